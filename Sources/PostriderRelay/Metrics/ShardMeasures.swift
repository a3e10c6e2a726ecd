import PostriderMetrics
import PostriderNotifications

/// What a shard counts for metrics, besides its ``Tally``. Only the shard's thread uses it; reports contain a copy.
struct ShardMeasures: Sendable {
    /// Pushes that were answered with 200.
    var acceptedPushes: UInt64 = 0
    /// Pushes that were refused, by reason.
    var refusedPushes: [Rejection: UInt64] = [:]
    /// Pushes that rules of a relay for tests refused with a reason that APNs does not know.
    var customRefusals: UInt64 = 0
    /// Pushes that another server has answered.
    var passedOnPushes: UInt64 = 0
    /// Time from the end of a request to its 200. A push that is answered in the turn that received it counts as 0.
    var responses = Histogram(.latency)
    /// Notifications that this shard's devices accepted, by topic.
    var topics = TopicCounts()
    /// How connections ended.
    var ends: [ConnectionEnds.Port: [ConnectionEndKind: UInt64]] = [:]
    /// Time from the acceptance of a connection to the end of its TLS handshake.
    var handshakes: [ConnectionEnds.Port: Histogram] = [
        .provider: Histogram(.latency), .device: Histogram(.latency),
    ]

    /// A push is answered.
    mutating func count(_ result: PushResult, nanoseconds: UInt64) {
        switch result {
        case .accepted:
            acceptedPushes += 1
            responses.record(nanoseconds: nanoseconds)
        case .rejected(let rejection, _): refusedPushes[rejection, default: 0] += 1
        }
    }

    /// A rule has refused a push with this reason.
    mutating func count(scripted reason: String) {
        if let rejection = Rejection(rawValue: reason) {
            refusedPushes[rejection, default: 0] += 1
        } else {
            customRefusals += 1
        }
    }

    /// Adds the counts of another shard of the same relay.
    static func += (left: inout ShardMeasures, right: ShardMeasures) {
        left.acceptedPushes += right.acceptedPushes
        left.refusedPushes.merge(right.refusedPushes, uniquingKeysWith: +)
        left.customRefusals += right.customRefusals
        left.passedOnPushes += right.passedOnPushes
        left.responses += right.responses
        left.topics += right.topics
        left.ends.merge(right.ends) { $0.merging($1, uniquingKeysWith: +) }
        left.handshakes.merge(right.handshakes) { sum, other in
            var sum = sum
            sum += other
            return sum
        }
    }
}

/// What a shard counts by visiting all of its devices when it is asked.
struct DeviceCensus: Sendable {
    /// How many notifications wait, counted one by one.
    var waiting: UInt64 = 0
    /// When the oldest of these was accepted; nil if none waits.
    var oldestAcceptedAt: Moment?
    /// Devices whose connection is open.
    var connected = 0
    /// Devices that are connected, or were within the last day.
    var seenWithinDay = 0

    static func += (left: inout DeviceCensus, right: DeviceCensus) {
        left.waiting += right.waiting
        left.oldestAcceptedAt = [left.oldestAcceptedAt, right.oldestAcceptedAt].compactMap(\.self).min()
        left.connected += right.connected
        left.seenWithinDay += right.seenWithinDay
    }
}

extension ShardContext {
    /// A device of this shard has accepted a push.
    func noteAccepted(_ queued: QueuedNotification, at now: Moment) {
        topics.count(queued.notification.topic)
        trace.noteAccepted(queued, at: now)
    }

    /// A TLS handshake is over.
    func noteHandshake(_ port: ConnectionEnds.Port, nanoseconds: UInt64) {
        measures.handshakes[port]?.record(nanoseconds: nanoseconds)
    }
}
