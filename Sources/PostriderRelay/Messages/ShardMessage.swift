import PostriderCourier
import PostriderNotifications
import PostriderTransport

/// Everything that one shard may tell another, and that the ledger and the trace may tell a shard, by who takes it.
///
/// Messages are plain values: no closure, no connection and no object that two threads share, but for notifications and
/// broadcasts, which never change. So each can be written down and sent to another process.
enum ShardMessage: Sendable {
    /// The life of a push.
    case push(PushMessage)
    /// Enrolments, and connections of devices that move to their home.
    case device(DeviceLifecycleMessage)
    /// Channels, subscriptions and broadcasts.
    indirect case channel(ChannelMessage)
    /// What has changed in the registry.
    case registry(RegistryMessage)
    /// What the operator asks of all shards and of the trace.
    indirect case control(ControlMessage)
    /// The end of the relay.
    case lifecycle(RelayLifecycleMessage)
}

/// The messages about one push.
enum PushMessage: Sendable {
    /// To the device's home: a push that was admitted.
    case deliver(Notification, ReplyAddress)
    /// To the provider's shard: what to answer.
    case answer(ReplyAddress, PushResult)
    /// From the ledger to the home: these rows are durable, or `failure` is what their providers are answered.
    case stored([StoredRow], failure: Rejection?)
    /// From the ledger to the home: stored notifications that a device waits for.
    case loaded(DeviceIdentity, asked: [QueueRow], Result<[QueuedNotification], StoreError>)
}

/// A row that the ledger has committed or refused, and its device.
struct StoredRow: Sendable {
    let device: DeviceIdentity
    let row: QueueRow
}

/// The messages about devices that enrol or connect.
enum DeviceLifecycleMessage: Sendable {
    /// To the home: a device has enrolled; make it durable, then answer.
    case enrol(DeviceRecord, ReplyAddress)
    /// To the shard on which it enrolled.
    case enrolled(ReplyAddress, DeviceIdentity, isDurable: Bool)
    /// To the home: a device has said this hello on another shard. Its connection waits among the
    /// ``ConnectionsInTransit`` of the process, under this number.
    case arrived(Hello, connection: UInt64)
}

/// The messages between the shards of providers, the homes of channels and the homes of devices.
///
/// Everything about one channel goes from its home to the others in the order in which it happened there: a
/// subscription's answer, the broadcasts after it, the channel's end.
enum ChannelMessage: Sendable {
    /// To the home: a provider's request.
    case order(ChannelOrder, ChannelOwner, ReplyAddress)
    /// To the provider's shard.
    case answer(ReplyAddress, ChannelAnswer)
    /// To the home: a device wants a channel's broadcasts.
    case subscribe(SubscriptionRequest)
    /// To the device's home: whether there is such a channel, and the broadcast that it stores.
    case subscribed(SubscriptionRequest, isKnown: Bool, Broadcast?)
    /// To all shards: a broadcast for the subscribers, and its row in the trace.
    case broadcast(Broadcast, QueueRow)
    /// To all shards: the channel is gone.
    case removed(ChannelIdentity)
}

/// The messages about the registry.
enum RegistryMessage: Sendable {
    /// From the ledger, to the shard that asked: its changes (or its backup) are durable, or have failed.
    case applied(ticket: UInt64, Result<Void, StoreError>)
    /// To every shard: ``PolicyInForce`` has a newer access policy, of at least this generation.
    case policyChanged(generation: UInt64)
}

/// The messages about what the operator asks.
enum ControlMessage: Sendable {
    /// To every shard.
    case question(ShardQuestion, id: UInt64, asker: Int)
    /// To the shard that asked.
    case reply(ShardReply, id: UInt64)
    /// To every shard, from a thread that is no shard: report to the ``RelayMeasurements`` of the process, under this
    /// number.
    case measure(number: UInt64)
    /// To shard 0 of a relay with a test bench, where somebody waits for captures: there are more.
    case capturesChanged
    /// From the trace, to the shard that asked.
    case traced(ticket: UInt64, TraceAnswer)
}

/// The messages to every shard about the end of the relay.
enum RelayLifecycleMessage: Sendable {
    /// Take on no more pushes, answer those that are open, say goodbye to devices.
    case drain
    /// All shards are drained and the ledger is closed: end the loop.
    case stop
}
