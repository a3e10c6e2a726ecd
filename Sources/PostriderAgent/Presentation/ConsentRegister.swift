import PostriderCourier
import PostriderNotifications
import PostriderStorage

/// Decisions of the owner about apps that have no notification centre yet, and how often users were asked: a table on
/// the disk, and a copy of it in memory, by topic.
final class ConsentRegister {
    /// The record of one topic.
    struct Record: Equatable {
        /// What was decided before the app attached; `notDetermined` if nothing was.
        var status = AuthorizationStatus.notDetermined
        /// Which of the options that the app asks for the decision grants; nil for all.
        var granted: NotificationOptions?
        /// How often its user was asked on the desktop.
        var prompts = 0
        /// Where the unanswered question is shown.
        var place: AlertRegister.Place?
    }

    /// All records.
    private(set) var records: [String: Record] = [:]
    private let database: Database
    private let insert: Statement
    private let delete: Statement

    static let schemaStep = """
        CREATE TABLE consents(
            topic TEXT PRIMARY KEY, status INTEGER NOT NULL, prompts INTEGER NOT NULL,
            number INTEGER, server TEXT
        ) STRICT;
        """
    static let optionStep = "ALTER TABLE consents ADD COLUMN granted INTEGER;"

    init(_ database: Database) throws(StoreError) {
        self.database = database
        insert = try database.prepare(
            "INSERT OR REPLACE INTO consents(topic, status, prompts, number, server, granted) "
                + "VALUES (?, ?, ?, ?, ?, ?)")
        delete = try database.prepare("DELETE FROM consents WHERE topic = ?")
        try load()
    }

    /// Reads the table.
    func load() throws(StoreError) {
        records = [:]
        let all = try database.prepare("SELECT topic, status, prompts, number, server, granted FROM consents")
        while try all.step() {
            let number = all.isNull(3) ? nil : UInt32(truncatingIfNeeded: all.integer(3))
            records[all.text(0)] = Record(
                status: UInt8(exactly: all.integer(1)).flatMap(AuthorizationStatus.init(rawValue:))
                    ?? .notDetermined,
                granted: all.isNull(5)
                    ? nil : NotificationOptions(rawValue: UInt32(truncatingIfNeeded: all.integer(5))),
                prompts: Int(all.integer(2)),
                place: number.map { AlertRegister.Place(number: $0, server: all.text(4)) })
        }
    }

    /// The record of a topic.
    subscript(topic: String) -> Record { records[topic] ?? Record() }

    /// The topics about which something was decided in advance.
    var decided: [String] { records.filter { $0.value.status != .notDetermined }.map(\.key) }

    /// Replaces the record of a topic.
    func put(_ record: Record, of topic: String) throws(StoreError) {
        guard self[topic] != record else { return }
        if record == Record() {
            delete.bind(topic)
            try delete.run()
            records[topic] = nil
            return
        }
        insert.bind(topic)
        insert.bind(Int64(record.status.rawValue))
        insert.bind(Int64(record.prompts))
        insert.bind(record.place.map { Int64($0.number) })
        insert.bind(record.place?.server)
        insert.bind(record.granted.map { Int64($0.rawValue) })
        try insert.run()
        records[topic] = record
    }
}
