import PostriderChannels
import PostriderDeviceQueue
import PostriderNotifications

/// A question of the operator to every shard.
enum ShardQuestion: Sendable {
    /// Ask for the counters.
    case tally
    /// List the devices of this shard that the filter selects.
    case devices(DeviceFilter)
    /// Remove a device and its pending notifications.
    case remove(DeviceIdentity)
    /// Describe the channels of an app, or of all apps, whose home is this shard.
    case channels(of: Topic?)
    /// Count the subscribers that each of these channels has on this shard.
    case subscribers([ChannelIdentity])
}

/// One shard's part of the answer.
enum ShardReply: Sendable {
    case tally(ShardReport)
    case devices([DeviceReport])
    /// Whether the device's home was this shard, so that it is removed.
    case removed(Bool)
    /// The number of channels, and the ``Limits/listedChannels`` oldest of them.
    case channels(count: Int, [ChannelSummary])
    case subscribers([Int])
}

extension ShardReply {
    /// The channels of an app in a registry, or of all apps.
    static func channels(_ registry: ChannelRegistry, of topic: Topic?) -> ShardReply {
        let (count, some) = registry.list(of: topic, limit: Limits.listedChannels)
        return .channels(count: count, some)
    }
}

/// The state of one shard.
struct ShardReport: Sendable {
    var index = 0
    var takenAt = Moment(milliseconds: 0)
    var tally = Tally()
    var census = DeviceCensus()
    var measures = ShardMeasures()
    var isDraining = false
    /// Whether the clock may be wrong (``ClockWatch``).
    var doubtsClock = false
    /// Devices that were told to come back later.
    var deferred: UInt64 = 0
    /// Connections that were closed before their handshake.
    var refused: UInt64 = 0
    var providerConnections = 0
    var deviceConnections = 0
    var devices = 0
    var channels = 0
    var subscriptions = 0
    var broadcasts = BroadcastTally()
}

/// The report about one device, for the operator.
struct DeviceReport: Sendable {
    /// A valid registration and its token.
    struct Registration: Sendable {
        let topic: Topic
        let token: DeviceToken
        let environment: Environment
    }

    let record: DeviceRecord
    let presence: DevicePresence
    /// Whether it asks for groups of notifications to save power; nil if it is away.
    let savesPower: Bool?
    /// The charge of its battery in percent, as it has said last; nil if it has not.
    let batteryPercent: Int?
    let pending: Int
    /// Two machines that use its identity; nil if only one was seen.
    let duplicate: CloneWatch.Duplicate?
    let registrations: [Registration]
}

/// What became of broadcasts.
struct BroadcastTally: Sendable, Equatable {
    /// Accepted by the home of their channel.
    var accepted: UInt64 = 0
    /// Written to a device's stream.
    var sent: UInt64 = 0
    /// Not written to a device's stream because too much was waiting there.
    var dropped: UInt64 = 0

    static func += (left: inout BroadcastTally, right: BroadcastTally) {
        left.accepted += right.accepted
        left.sent += right.sent
        left.dropped += right.dropped
    }
}

extension ShardReport {
    /// Whether the counters account for every notification, and `pending` is the number of those that wait.
    var isBalanced: Bool { tally.isBalanced && tally.pending == census.waiting }

    static func += (left: inout ShardReport, right: ShardReport) {
        left.takenAt = max(left.takenAt, right.takenAt)
        left.tally += right.tally
        left.census += right.census
        left.measures += right.measures
        left.isDraining = left.isDraining || right.isDraining
        left.doubtsClock = left.doubtsClock || right.doubtsClock
        left.deferred += right.deferred
        left.refused += right.refused
        left.providerConnections += right.providerConnections
        left.deviceConnections += right.deviceConnections
        left.devices += right.devices
        left.channels += right.channels
        left.subscriptions += right.subscriptions
        left.broadcasts += right.broadcasts
    }
}
