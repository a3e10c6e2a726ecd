import PostriderCourier
import PostriderNotifications
import PostriderStorage

/// The alerts that wait to be shown or are shown: a table on the disk, so that an alert survives the agent, and a
/// response to an alert of an earlier agent finds its app.
final class AlertRegister {
    /// Where an alert is shown: under this number, by this notification server.
    struct Place: Equatable {
        let number: UInt32
        /// The bus, and the server's unique name on it.
        let server: String
    }

    /// An alert as it is stored.
    struct Record: Equatable {
        let alert: Alert
        /// Where it is shown, or where the alert that it replaces is.
        let place: Place?
        /// Whether it has been shown, so that nothing is left to do.
        let isShown: Bool
    }

    private let database: Database
    private let insert: Statement
    private let place: Statement
    private let change: Statement
    private let remove: Statement
    private let list: Statement

    static let schemaStep = """
        CREATE TABLE alerts(
            row INTEGER PRIMARY KEY AUTOINCREMENT, app INTEGER NOT NULL, identifier TEXT NOT NULL,
            message BLOB NOT NULL, is_reported INTEGER NOT NULL, is_shown INTEGER NOT NULL,
            number INTEGER, server TEXT
        ) STRICT;
        CREATE UNIQUE INDEX alert_identifiers ON alerts(app, identifier);
        """

    static let changeStep = "ALTER TABLE alerts ADD COLUMN is_changed INTEGER NOT NULL DEFAULT 0;"

    init(_ database: Database) throws(StoreError) {
        self.database = database
        insert = try database.prepare(
            """
            INSERT INTO alerts(app, identifier, message, is_reported, is_shown, reported)
            VALUES (?, ?, ?, ?, 0, ?)
            ON CONFLICT(app, identifier) DO UPDATE
            SET message = excluded.message, is_reported = excluded.is_reported,
                reported = excluded.reported, is_shown = 0, is_changed = 0
            """)
        change = try database.prepare(
            "UPDATE alerts SET message = ?, is_changed = 1 WHERE app = ? AND identifier = ?")
        place = try database.prepare(
            "UPDATE alerts SET is_shown = 1, number = ?, server = ? WHERE app = ? AND identifier = ?")
        remove = try database.prepare("DELETE FROM alerts WHERE app = ? AND identifier = ?")
        list = try database.prepare(
            """
            SELECT app, identifier, message, is_reported, is_shown, number, server, reported, is_changed
            FROM alerts ORDER BY row
            """)
    }

    /// All alerts, the oldest first.
    func records() throws(StoreError) -> [Record] {
        var records: [Record] = []
        defer { list.reset() }
        while try list.step() {
            guard let message = list.withBytes(2, { bytes in try? Responded(decoding: bytes) }) else {
                throw StoreError(
                    .unusable,
                    "\(database.path) is damaged (alert \(list.text(1))): put a backup in its place.")
            }
            guard
                let alert = Alert(
                    app: list.integer(0), topic: message.topic, identifier: list.text(1),
                    identity: message.identity, subject: message.subject,
                    reported: list.integer(3) == 0
                        ? nil
                        // An earlier version has stored the identity only.
                        : ReportedPush(bytes: list.bytes(7))
                            ?? ReportedPush(identity: message.identity, push: 0),
                    at: message.at, isChanged: list.integer(8) != 0)
            else { continue }
            let number = list.isNull(5) ? nil : UInt32(truncatingIfNeeded: list.integer(5))
            records.append(
                Record(
                    alert: alert, place: number.map { Place(number: $0, server: list.text(6)) },
                    isShown: list.integer(4) != 0))
        }
        return records
    }

    /// Adds an alert, which replaces the one of its key.
    func put(_ alert: Alert) throws(StoreError) {
        insert.bind(alert.app)
        insert.bind(alert.key.identifier)
        insert.bind(message(of: alert))
        insert.bind(alert.reported == nil ? 0 : 1)
        if let reported = alert.reported { insert.bind(reported.bytes) } else { insert.bindNull() }
        try insert.run()
    }

    /// Stores an alert that a service extension has changed.
    func change(_ alert: Alert) throws(StoreError) {
        change.bind(message(of: alert))
        change.bind(alert.app)
        change.bind(alert.key.identifier)
        try change.run()
    }

    private func message(of alert: Alert) -> [UInt8] {
        var bytes: [UInt8] = []
        Responded(
            delivery: 0, identity: alert.identity, topic: alert.key.topic, subject: alert.subject, action: "",
            text: nil, at: alert.at
        ).encode(into: &bytes)
        return bytes
    }

    /// Notes that an alert is shown; `place` is nil if there is no screen.
    func shown(_ alert: Alert, at place: Place?) throws(StoreError) {
        self.place.bind(place.map { Int64($0.number) })
        self.place.bind(place?.server)
        self.place.bind(alert.app)
        self.place.bind(alert.key.identifier)
        try self.place.run()
    }

    /// Forgets an alert.
    func remove(_ alert: Alert) throws(StoreError) {
        remove.bind(alert.app)
        remove.bind(alert.key.identifier)
        try remove.run()
    }
}
