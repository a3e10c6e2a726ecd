import Courier
import Notifications
import Storage

/// The channels that the apps of this device want, with the last broadcast of each that is safe. The relay knows of
/// them for as long as a link lives only.
final class ChannelRegister {
    private let insert: Statement
    private let delete: Statement
    private let all: Statement
    private let owners: Statement
    private let count: Statement

    /// The step of the schema that makes the table.
    static let schemaStep = """
        CREATE TABLE subscriptions(
            app INTEGER NOT NULL, channel BLOB NOT NULL, last BLOB, PRIMARY KEY (app, channel)
        ) STRICT, WITHOUT ROWID;
        """

    init(_ database: Database) throws(StoreError) {
        insert = try database.prepare("INSERT OR IGNORE INTO subscriptions(app, channel) VALUES (?, ?)")
        delete = try database.prepare("DELETE FROM subscriptions WHERE app = ? AND channel = ?")
        all = try database.prepare("SELECT app, channel, last FROM subscriptions ORDER BY app, channel")
        owners = try database.prepare("SELECT app FROM subscriptions WHERE channel = ? ORDER BY app")
        count = try database.prepare("SELECT count(*) FROM subscriptions")
    }

    /// Adds a channel to those of an app; one that is there stays as it is. False: there are too many.
    func add(_ channel: ChannelIdentity, to app: Int64) throws(StoreError) -> Bool {
        var present: Int64 = 0
        while try count.step() { present = count.integer(0) }
        guard present < Int64(Limits.subscriptionsPerDevice) else {
            return try apps(of: channel).contains(app)
        }
        insert.bind(app)
        insert.bind(channel.bytes)
        try insert.run()
        return true
    }

    /// Removes a channel of an app; one that is not there is no error.
    func remove(_ channel: ChannelIdentity, from app: Int64) throws(StoreError) {
        delete.bind(app)
        delete.bind(channel.bytes)
        try delete.run()
    }

    /// The apps that want a channel, by their numbers.
    func apps(of channel: ChannelIdentity) throws(StoreError) -> [Int64] {
        owners.bind(channel.bytes)
        var apps: [Int64] = []
        while try owners.step() { apps.append(owners.integer(0)) }
        return apps
    }

    /// Every app's channels with the last broadcast of each.
    func subscriptions() throws(StoreError) -> [(
        app: Int64, channel: ChannelIdentity, last: NotificationIdentity?
    )] {
        var found: [(app: Int64, channel: ChannelIdentity, last: NotificationIdentity?)] = []
        while try all.step() {
            guard let channel = ChannelIdentity(bytes: all.bytes(1)) else { continue }
            found.append((all.integer(0), channel, NotificationIdentity(bytes: all.bytes(2))))
        }
        return found
    }
}
