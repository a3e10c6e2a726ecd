import PostriderChannels
import PostriderCluster
import PostriderCourier
import PostriderNotifications
import PostriderProviderAPI
import PostriderTransport

/// Everything that a shard can tell another one, and that the ledger and the trace can tell a shard, grouped by
/// receiver.
///
/// Messages are plain values: no closures, no connections, and no objects that two threads share, except for
/// notifications, broadcasts and trace contexts, which never change. So every message can be encoded and sent to
/// another process.
enum ShardMessage: Sendable {
    /// The life of a push.
    case push(PushMessage)
    /// Enrolments, and connections of devices that move to their home.
    case device(DeviceLifecycleMessage)
    /// Channels, subscriptions and broadcasts.
    indirect case channel(ChannelMessage)
    /// Messages of application servers, and browsers that move to their home.
    indirect case web(WebMessage)
    /// Devices whose connection and whose home are on different nodes.
    indirect case edge(EdgeMessage)
    /// Questions of operators and providers to other nodes of the cluster.
    indirect case nodeQuery(NodeQuery)
    /// Requests of providers while partitions move from one node to another.
    indirect case handover(HandoverMessage)
    /// What has changed in the registry.
    case registry(RegistryMessage)
    /// Questions of the operator to all shards and to the trace.
    indirect case control(ControlMessage)
    /// New settings, and the end of the relay.
    case lifecycle(RelayLifecycleMessage)
}

/// The messages about one push.
enum PushMessage: Sendable {
    /// To the device's home: a push that was validated.
    case deliver(Notification, ReplyAddress)
    /// To the provider's shard: what to answer.
    case answer(ReplyAddress, PushResult)
    /// From the ledger to the home: these rows are durable; or they are not, and `failure` is the answer to their
    /// providers.
    case stored([StoredRow], failure: Rejection?)
    /// From the ledger to the home: stored notifications that it asked for.
    case loaded(DeviceIdentity, asked: [QueueRow], Result<[QueuedNotification], StoreError>)
}

/// A row that the ledger has committed or refused, and its device.
struct StoredRow: Sendable {
    let device: DeviceIdentity
    let row: QueueRow
}

/// The messages about devices that enrol or connect.
enum DeviceLifecycleMessage: Sendable {
    /// To the home: a device has enrolled, with these tags and the key of this digest; make it durable, then answer.
    case enrol(DeviceRecord, [DeviceTag], key: [UInt8], ReplyAddress)
    /// To the shard on which the device enrolled: the answer.
    case enrolled(ReplyAddress, DeviceIdentity, EnrolmentRefusal?)
    /// To the home: a device has sent this hello on another shard. Its connection is in ``ConnectionsInTransit`` under
    /// this number.
    case arrived(Hello, connection: UInt64)
}

/// The messages between the shards of providers, the homes of channels and the homes of devices.
///
/// The home of a channel sends everything about it in the order in which it happened: the answer to a subscription, the
/// broadcasts after it, the channel's end.
enum ChannelMessage: Sendable {
    /// To the home: a provider's request.
    case order(ChannelCommand, ChannelOwner, ReplyAddress)
    /// To the provider's shard: the answer.
    case answer(ReplyAddress, ChannelAnswer)
    /// To the channel's home: a device asks for its broadcasts.
    case subscribe(SubscriptionRequest)
    /// To the device's home: whether the channel exists, and the broadcast that it stores. All broadcasts of lower rows
    /// are older than the answer, and all of higher ones are newer; 0 without a cluster.
    case subscribed(SubscriptionRequest, isKnown: Bool, Broadcast?, QueueRow)
    /// To all shards: a broadcast for the subscribers, and its row in the trace.
    case broadcast(Broadcast, QueueRow)
    /// To all shards: the channel was removed.
    case removed(ChannelIdentity)
}

/// The messages about the registry.
enum RegistryMessage: Sendable {
    /// From the ledger to the shard that asked: its changes (or its backup) are durable, or have failed.
    case applied(ticket: UInt64, Result<Void, StoreError>)
    /// From the ledger to the shard that asked: what every node of the cluster has.
    indirect case read(ticket: UInt64, Result<Registry, StoreError>)
    /// To shard 0 of a node: other nodes have changed what every node has, which has this version now.
    case sharedChanged(version: Int64)
    /// To every shard: ``PolicyInForce`` has a newer access policy, of at least this generation.
    case policyChanged(generation: UInt64)
    /// To every shard of a node: devices have their homes there from now on.
    case placed(PartitionPlaces)
    /// From the ledger to every shard of a node: what the store has of partitions that the node has taken.
    indirect case taken(LoadedStore)
    /// To every shard of a node: other nodes are to have these partitions. Each shard tells the node's thread when it
    /// has forgotten their devices.
    case leave(Set<Partition>, ticket: UInt64)
}

/// The messages about the operator's questions.
enum ControlMessage: Sendable {
    /// To every shard: a question.
    case question(ShardQuestion, id: UInt64, asker: Int)
    /// To the shard that asked: one shard's reply.
    case reply(ShardReply, id: UInt64)
    /// To every shard, from a thread that is not a shard: report to the ``RelayMeasurements`` of the process, under
    /// this number.
    case measure(number: UInt64)
    /// To shard 0 of a relay with a test bench, if somebody waits for captures: there are new ones.
    case capturesChanged
    /// To shard 0: a device has enrolled with these tags, and is durable.
    case enrolled(DeviceRecord, [DeviceTag])
    /// To shard 0, while somebody follows the events of devices: these have happened.
    case devices([Control.DeviceEvent])
    /// To shard 0: a provider looks up device tokens, or asks about a push.
    case lookUp(ProviderQuestion, ReplyAddress)
    /// To the provider's shard: the answer.
    case lookedUp(LookupAnswer, ReplyAddress)
    /// From the trace to the shard that asked: its answer.
    case traced(ticket: UInt64, TraceAnswer)
}

/// The messages to every shard about the end of the relay.
enum RelayLifecycleMessage: Sendable {
    /// Accept no more pushes, answer those that are open, say goodbye to devices.
    case drain
    /// A reload: ``SettingsInForce`` has newer settings.
    case settingsChanged
    /// All shards are drained and the ledger is closed: end the loop.
    case stop
}

/// The JSON that a provider has asked for, or the reason for which it gets none.
typealias LookupAnswer = Result<[UInt8], Rejection>
