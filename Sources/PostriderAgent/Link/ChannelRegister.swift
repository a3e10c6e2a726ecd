import PostriderCourier
import PostriderNotifications
import PostriderStorage

/// The channels that the apps of this device want, with the last stored broadcast of each. The relay forgets
/// subscriptions when a link ends.
final class ChannelRegister {
    private let insert: Statement
    private let delete: Statement
    private let all: Statement
    private let owners: Statement
    private let counts: Statement

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
        counts = try database.prepare("SELECT count(*), count(*) FILTER (WHERE app = ?) FROM subscriptions")
    }

    /// Adds a channel to those of an app; nothing changes if it is there already. Each app may take only a part of the
    /// places that are free, so that there are always some left for apps that come later.
    ///
    /// - Returns: nil, or one sentence that says why the app can have no more.
    func add(_ channel: ChannelIdentity, to app: Int64) throws(StoreError) -> String? {
        var (present, own) = (0, 0)
        counts.bind(app)
        while try counts.step() { (present, own) = (Int(counts.integer(0)), Int(counts.integer(1))) }
        let most = Limits.subscriptionsPerDevice
        let left = most - present
        guard own < left else {
            if try apps(of: channel).contains(app) { return nil }
            return own == 0
                ? "Other apps have all of the device's \(most) subscriptions: one of them must give some up."
                : "The app has \(own) of the device's \(most) subscriptions, and \(left) are left for other "
                    + "apps: unsubscribe from a channel first."
        }
        insert.bind(app)
        insert.bind(channel.bytes)
        try insert.run()
        return nil
    }

    /// Removes a channel of an app. A channel that does not exist is not an error.
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

    /// The channels of every app, with the last broadcast of each.
    func subscriptions() throws(StoreError) -> [(
        app: Int64, channel: ChannelIdentity, last: SubscribedBroadcast?
    )] {
        var found: [(app: Int64, channel: ChannelIdentity, last: SubscribedBroadcast?)] = []
        while try all.step() {
            guard let channel = ChannelIdentity(bytes: all.bytes(1)) else { continue }
            found.append((all.integer(0), channel, SubscribedBroadcast(bytes: all.bytes(2))))
        }
        return found
    }
}

/// The last broadcast of a channel that was stored. A provider may use one `apns-id` for several broadcasts, so the
/// time is kept too.
struct SubscribedBroadcast: Equatable {
    let identity: NotificationIdentity
    /// When the relay accepted it; nil if an earlier version of the agent has stored it.
    let acceptedAt: Moment?

    init(_ deliver: Deliver) {
        identity = deliver.identity
        acceptedAt = deliver.acceptedAt
    }

    /// Decodes what a row holds: the identity, followed by the time.
    init?(bytes: [UInt8]) {
        guard let identity = NotificationIdentity(bytes: Array(bytes.prefix(NotificationIdentity.byteCount)))
        else { return nil }
        self.identity = identity
        let rest = bytes.dropFirst(NotificationIdentity.byteCount)
        acceptedAt =
            rest.count == 8
            ? Moment(milliseconds: Int64(bitPattern: rest.reduce(0) { $0 << 8 | UInt64($1) })) : nil
    }

    /// Encodes both for a row.
    var bytes: [UInt8] {
        let milliseconds = UInt64(bitPattern: acceptedAt?.milliseconds ?? 0)
        return identity.bytes
            + stride(from: 56, through: 0, by: -8).map {
                UInt8(truncatingIfNeeded: milliseconds >> UInt64($0))
            }
    }
}
