import PostriderNotifications
import PostriderStorage

/// An app that has registered with the agent.
struct AppRecord: Equatable {
    /// The app's number in the inbox. It is never used again for another app.
    let number: Int64
    /// The topic of the app.
    let topic: Topic
    /// The user whose processes may be this app.
    let user: UInt32
    /// The environment of its registration.
    var environment = Environment.production
    /// Its device token, as long as the registration is alive.
    var token: DeviceToken?
    /// Whether the app wants its notifications. If not, the record stays until the relay has ended the registration.
    var isWanted: Bool
}

/// The apps of this device, by topic: a table on the disk, and a copy of it in memory.
final class AppRegister {
    /// All apps by topic.
    private(set) var records: [String: AppRecord] = [:]
    private var topics: [Int64: String] = [:]

    private let database: Database
    private let insert: Statement
    private let update: Statement

    init(_ database: Database) throws(StoreError) {
        self.database = database
        insert = try database.prepare(
            "INSERT INTO apps(topic, user, environment, is_wanted) VALUES (?, ?, ?, ?) RETURNING number")
        update = try database.prepare(
            "UPDATE apps SET user = ?, environment = ?, token = ?, is_wanted = ? WHERE number = ?")
        try load()
    }

    /// Reads the table.
    func load() throws(StoreError) {
        (records, topics) = ([:], [:])
        let all = try database.prepare("SELECT number, topic, user, environment, token, is_wanted FROM apps")
        while try all.step() {
            guard let topic = Topic(all.text(1)) else { continue }
            records[topic.text] = AppRecord(
                number: all.integer(0),
                topic: topic,
                user: UInt32(truncatingIfNeeded: all.integer(2)),
                environment: Environment(rawValue: all.text(3)) ?? .production,
                token: DeviceToken(bytes: all.bytes(4)),
                isWanted: all.integer(5) != 0
            )
            topics[all.integer(0)] = topic.text
        }
    }

    /// The app of a topic.
    subscript(topic: String) -> AppRecord? { records[topic] }

    /// The app with this number.
    func record(numbered number: Int64) -> AppRecord? { topics[number].flatMap { records[$0] } }

    /// The topics that the relay should have registered, with their environments.
    var wanted: [String: Environment] { records.filter(\.value.isWanted).mapValues(\.environment) }
    /// The topics whose registration at the relay should end.
    var unwanted: Set<String> { Set(records.values.filter { !$0.isWanted }.map(\.topic.text)) }

    /// Adds an app. `isWanted` says whether it wants its notifications from the relay.
    func add(
        _ topic: Topic, user: UInt32, in environment: Environment = .production, isWanted: Bool = true
    ) throws(StoreError) -> AppRecord {
        precondition(records[topic.text] == nil, "an app is added once")
        insert.bind(topic.text)
        insert.bind(Int64(user))
        insert.bind(environment.rawValue)
        insert.bind(isWanted ? 1 : 0)
        var number: Int64 = 0
        while try insert.step() { number = insert.integer(0) }
        let record = AppRecord(
            number: number, topic: topic, user: user, environment: environment, token: nil,
            isWanted: isWanted)
        records[topic.text] = record
        topics[number] = topic.text
        return record
    }

    /// Replaces the record of an app. An app that no longer wants its notifications loses the pushes that wait for it.
    func put(_ record: AppRecord) throws(StoreError) {
        guard let former = records[record.topic.text], former != record else { return }
        try database.transaction { () throws(StoreError) in
            update.bind(Int64(record.user))
            update.bind(record.environment.rawValue)
            if let token = record.token { update.bind(token.bytes) } else { update.bindNull() }
            update.bind(record.isWanted ? 1 : 0)
            update.bind(record.number)
            try update.run()
            if former.token != record.token {
                // Pushes of another registration do not replace those of this one.
                for table in ["inbox", "dead_letters"] {
                    try database.execute(
                        "UPDATE \(table) SET collapse = NULL WHERE app = \(record.number) "
                            + "AND kind = \(InboxContent.remoteKind)")
                }
            }
            guard !record.isWanted else { return }
            for table in ["inbox", "dead_letters"] {
                try database.execute(
                    "DELETE FROM \(table) WHERE app = \(record.number) AND kind = \(InboxContent.remoteKind)")
            }
            try database.execute("DELETE FROM subscriptions WHERE app = \(record.number)")
        }
        records[record.topic.text] = record
    }

    /// Removes an app and everything that is stored for it.
    func remove(_ record: AppRecord) throws(StoreError) {
        try database.transaction { () throws(StoreError) in
            for table in ["inbox", "seen", "dead_letters", "subscriptions", "alerts"] {
                try database.execute("DELETE FROM \(table) WHERE app = \(record.number)")
            }
            try database.execute("DELETE FROM apps WHERE number = \(record.number)")
        }
        records[record.topic.text] = nil
        topics[record.number] = nil
    }
}
