import Courier
import Notifications
import Storage

/// What an agent keeps across restarts: who the device is, its apps, and their inbox. One SQLite file in a directory
/// that belongs to this process alone.
///
/// Thread-confined. Whatever a verb here has changed survives power loss when the verb returns.
final class AgentState {
    /// The apps that have registered.
    let apps: AppRegister
    /// Their user notification centres.
    let centers: CenterRegister
    /// Their local notifications.
    let timetable: Timetable
    /// Their channels.
    let channels: ChannelRegister
    /// What has arrived for them.
    let inbox: Inbox
    /// What they could not handle.
    let deadLetters: DeadLetters
    /// The processes of those that the agent has started.
    let processes: ProcessRegister

    private let directory: OwnedDirectory
    private let database: Database
    private let putDevice: Statement

    /// Opens the state, and makes it where there is none.
    init(directory path: String, log: Log) throws(StoreError) {
        directory = try OwnedDirectory(path, log: log)
        database = try Database(path: path + "/agent.sqlite", schema: Self.schema)
        putDevice = try database.prepare("INSERT OR REPLACE INTO device VALUES (1, ?, ?)")
        apps = try AppRegister(database)
        centers = try CenterRegister(database)
        timetable = try Timetable(database)
        channels = try ChannelRegister(database)
        deadLetters = try DeadLetters(database)
        inbox = try Inbox(database, deadLetters: deadLetters)
        processes = try ProcessRegister(database)
    }

    /// What the relay answered when the device enrolled; nil before that.
    func device() throws(StoreError) -> EnrollResponse? {
        let statement = try database.prepare("SELECT identity, secret FROM device")
        defer { statement.reset() }
        guard try statement.step() else { return nil }
        let secret = statement.bytes(1)
        guard let identity = DeviceIdentity(bytes: statement.bytes(0)),
            secret.count == Limits.deviceSecretBytes
        else {
            throw StoreError(
                .unusable, "\(database.path) is damaged (no device identity): put a backup in its place.")
        }
        return EnrollResponse(deviceIdentity: identity, deviceSecret: secret)
    }

    /// Keeps who the device is from now on.
    func setDevice(_ device: EnrollResponse) throws(StoreError) {
        putDevice.bind(device.deviceIdentity.bytes)
        putDevice.bind(device.deviceSecret)
        try putDevice.run()
    }

    /// Drops all that waits for an app and all that it has asked for; what the relay knows of it stays to be ended.
    func clear(_ record: AppRecord) throws(StoreError) {
        try database.transaction { () throws(StoreError) in
            for table in ["inbox", "dead_letters", "notices", "centers"] {
                try database.execute("DELETE FROM \(table) WHERE app = \(record.number)")
            }
        }
        centers.forget(record.number)
    }

    /// Runs the body in one transaction: all that it changes is safe when this returns, or nothing is changed.
    func transaction(_ body: () throws(StoreError) -> Void) throws(StoreError) {
        try database.transaction(body)
    }

    private static let schema = Schema(
        applicationIdentifier: 0x5072_4167,  // "PrAg"
        steps: [
            """
            CREATE TABLE device(
                one INTEGER PRIMARY KEY CHECK (one = 1), identity BLOB NOT NULL, secret BLOB NOT NULL
            ) STRICT;
            CREATE TABLE apps(
                number INTEGER PRIMARY KEY AUTOINCREMENT, topic TEXT NOT NULL UNIQUE, user INTEGER NOT NULL,
                token BLOB, is_wanted INTEGER NOT NULL
            ) STRICT;
            CREATE TABLE seen(
                row INTEGER PRIMARY KEY AUTOINCREMENT, app INTEGER NOT NULL, identity BLOB NOT NULL,
                received_at INTEGER NOT NULL
            ) STRICT;
            CREATE UNIQUE INDEX seen_identities ON seen(app, identity);
            CREATE INDEX seen_order ON seen(app);
            CREATE TABLE inbox(
                row INTEGER PRIMARY KEY, app INTEGER NOT NULL, priority INTEGER NOT NULL,
                message BLOB NOT NULL
            ) STRICT;
            CREATE INDEX inbox_order ON inbox(app);
            """,
            // Apps of two environments: those that were there are in the one there was.
            "ALTER TABLE apps ADD COLUMN environment TEXT NOT NULL DEFAULT 'production'",
            Timetable.schemaStep,
            ChannelRegister.schemaStep,
            DeadLetters.schemaStep + ProcessRegister.schemaStep,
        ])
}
