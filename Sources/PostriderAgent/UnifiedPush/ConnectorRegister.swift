import PostriderCourier
import PostriderNotifications
import PostriderStorage

/// The version of the interfaces `org.unifiedpush.Distributor` and `org.unifiedpush.Connector` that an app speaks.
enum ConnectorVersion: Int64 {
    /// Arguments by position; the app acknowledges nothing.
    case one = 1
    /// Arguments by name; the app answers each message (UnifiedPush DBUS_0.3.0).
    case two = 2
}

/// A registration of UnifiedPush: an app on the session bus, and what it has registered with.
struct ConnectorRecord: Equatable {
    /// The connection token: a secret that the app has drawn, and by which it knows this registration.
    let token: String
    /// The well-known name of the app on the bus.
    let service: String
    /// What the registration is for, in the app's words; empty if the app has not said.
    var description: String
    /// The VAPID key of the app's server, an uncompressed point on P-256; empty if the app has named none.
    let senderKey: [UInt8]
    /// The version that the app has registered with last.
    var version: ConnectorVersion
    /// The topic of the registration at the relay.
    let topic: String
    /// The URL for the app's server that the app was told; empty if it was told none.
    var toldEndpoint = ""

    /// The registration as the relay is asked for it.
    var wish: RegisterWebPush { RegisterWebPush(topic: topic, senderKey: senderKey) }
}

/// The registrations of UnifiedPush: a table on the disk, and a copy of it in memory.
final class ConnectorRegister {
    /// All registrations by their connection tokens.
    private(set) var records: [String: ConnectorRecord] = [:]

    private let all: Statement
    private let insert: Statement
    private let delete: Statement

    /// The step of the schema that makes the table.
    static let schemaStep = """
        CREATE TABLE connectors(
            token TEXT PRIMARY KEY, service TEXT NOT NULL, description TEXT NOT NULL,
            sender_key BLOB NOT NULL, version INTEGER NOT NULL, topic TEXT NOT NULL UNIQUE,
            endpoint TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;
        """

    init(_ database: Database) throws(StoreError) {
        all = try database.prepare(
            "SELECT token, service, description, sender_key, version, topic, endpoint FROM connectors")
        insert = try database.prepare("INSERT OR REPLACE INTO connectors VALUES (?, ?, ?, ?, ?, ?, ?)")
        delete = try database.prepare("DELETE FROM connectors WHERE token = ?")
        try load()
    }

    /// Reads the table.
    func load() throws(StoreError) {
        records = [:]
        while try all.step() {
            records[all.text(0)] = ConnectorRecord(
                token: all.text(0), service: all.text(1), description: all.text(2), senderKey: all.bytes(3),
                version: ConnectorVersion(rawValue: all.integer(4)) ?? .two, topic: all.text(5),
                toldEndpoint: all.text(6))
        }
    }

    /// The registration with a connection token.
    subscript(token: String) -> ConnectorRecord? { records[token] }

    /// The registration of a topic.
    func record(of topic: String) -> ConnectorRecord? { records.values.first { $0.topic == topic } }

    /// Adds a registration, or replaces the one of its connection token.
    func put(_ record: ConnectorRecord) throws(StoreError) {
        guard records[record.token] != record else { return }
        insert.bind(record.token)
        insert.bind(record.service)
        insert.bind(record.description)
        insert.bind(record.senderKey)
        insert.bind(record.version.rawValue)
        insert.bind(record.topic)
        insert.bind(record.toldEndpoint)
        try insert.run()
        records[record.token] = record
    }

    /// Removes a registration.
    func remove(_ token: String) throws(StoreError) {
        delete.bind(token)
        try delete.run()
        records[token] = nil
    }
}
