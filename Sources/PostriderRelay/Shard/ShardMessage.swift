import PostriderNotifications
import PostriderTransport

/// Everything that one shard may say to another, and the ledger to a shard. Nothing else crosses between
/// threads on the data path.
enum ShardMessage: Sendable {
    // The life of a push.

    /// To the home: a push that was admitted.
    case deliver(Notification, ReplyAddress)
    /// To the provider's shard: what to tell it.
    case answer(ReplyAddress, PushResult)
    /// From the ledger, to the home: these are durable, or could not be made so and are refused with this.
    case stored([StoredRow], failure: Rejection?)
    /// From the ledger, to the home: notifications that a device waits for.
    case loaded(DeviceIdentity, asked: [QueueRow], Result<[QueuedNotification], StoreError>)

    // The life of a device.

    /// To the home: the connection of a device that has said hello on another shard.
    case adopt(DeviceArrival)
    /// To the home: a device has enrolled; it is made durable and then answered.
    case enrol(DeviceRecord, ReplyAddress)
    /// To the shard on which it enrolled: it is durable, or could not be made so.
    case enrolled(ReplyAddress, DeviceIdentity, isDurable: Bool)

    // Channels.

    /// The life of channels, subscriptions and broadcasts.
    indirect case channel(ChannelLetter)

    // The registry and the operator.

    /// From the ledger: registry changes are durable, or could not be made so.
    case applied(ticket: UInt64, Result<Void, StoreError>)
    /// To every shard: what providers and devices may do has changed.
    case authority(AccessPolicy)
    /// To every shard: a question of the operator's.
    case question(Question, id: UInt64, asker: Int)
    /// To the shard that asked.
    case reply(Reply, id: UInt64)
    /// From the trace, to the shard that asked.
    case traced(ticket: UInt64, ControlHandler.Answer)
    /// To every shard: take on no more pushes, answer those that are open, say goodbye.
    case drain
    /// To every shard: all are drained and the ledger is closed; the loop ends.
    case stop
}

/// A row that the ledger has dealt with, and whose it is.
struct StoredRow: Sendable {
    let device: DeviceIdentity
    let row: QueueRow
}

/// What shards say to the ledger.
enum LedgerCommand: Sendable {
    /// Make it durable, then tell the device's home.
    case store(QueuedNotification)
    /// It is settled; forget it.
    case settle(QueueRow)
    /// Fetch what a device waits for.
    case load(DeviceIdentity, [QueueRow])
    /// Apply changes to the registry, all or none, then tell the shard.
    case apply([RegistryChange], shard: Int, ticket: UInt64)
    /// Copy the store as it is when everything before this is committed, then tell the shard.
    case backUp(BackupOrder)
    /// Everything before this is to be committed; then close the store and stop.
    case close

    /// Whether nobody is the worse for its being received a moment later.
    var canWait: Bool {
        switch self {
        case .store, .settle: true
        case .load, .apply, .backUp, .close: false
        }
    }
}

/// A copy of the store that the operator wants.
struct BackupOrder: Sendable {
    /// The directory to make; absolute.
    let directory: String
    /// The shard that waits for its end, and what it knows the order by.
    let shard: Int
    let ticket: UInt64
}

/// What the operator asks of every shard.
enum Question: Sendable {
    /// How the counters stand.
    case tally
    /// Which devices there are.
    case devices
    /// Remove a device and everything that waits for it.
    case remove(DeviceIdentity)
}

/// A shard's part of the answer to a question.
enum Reply: Sendable {
    case tally(ShardReport)
    case devices([DeviceReport])
    /// Whether the device was this shard's, and is removed.
    case removed(Bool)
}

/// How one shard stands.
struct ShardReport: Sendable {
    var index = 0
    var tally = Tally()
    /// The notifications that wait, counted one by one.
    var waiting: UInt64 = 0
    /// Devices that were told to come back later, and connections that were closed before their handshake.
    var deferred: UInt64 = 0
    var refused: UInt64 = 0
    var providerConnections = 0
    var deviceConnections = 0
    var devices = 0
    var channels = 0
    var subscriptions = 0
    var broadcasts = BroadcastTally()
}

/// One device as the operator sees it.
struct DeviceReport: Sendable {
    let record: DeviceRecord
    let isConnected: Bool
    let pending: Int
    /// The two machines that use its identity, if there are.
    let duplicate: CloneWatch.Duplicate?
    /// The good registrations, with the token of each.
    let registrations: [(topic: Topic, token: DeviceToken, environment: Environment)]
}
