import PostriderNotifications
import PostriderTransport

/// What the parts of one shard share: its place among the shards, the clock, the way to other threads, the token codec,
/// the access policy, randomness, the trace, the log and the counts for metrics. Confined to the shard's thread.
final class ShardContext {
    let index: Int
    let scheduler: any Scheduler
    let outbox: Outbox
    let rows: RowSequence
    let codec: DeviceTokenCodec
    let random: any RandomSource
    let trace: TraceRecorder
    let log: Log
    private let policies: PolicyInForce
    /// The access policy, as of the last message about it.
    private(set) var policy: AccessPolicy
    /// Whether the relay is stopping: no new connections and no new pushes.
    private(set) var isDraining = false
    /// What is counted for metrics, except for the topics.
    var measures = ShardMeasures()
    /// Counts notifications by topic, for metrics.
    var topics: TopicCounter
    private var lastNumber: UInt64 = 0

    init(
        index: Int, scheduler: any Scheduler, outbox: Outbox, rows: RowSequence, codec: DeviceTokenCodec,
        policies: PolicyInForce, random: any RandomSource, trace: TraceRecorder = TraceRecorder(),
        topicLabels: TopicLabels = TopicLabels(), log: Log
    ) {
        self.index = index
        self.scheduler = scheduler
        self.outbox = outbox
        self.rows = rows
        self.codec = codec
        self.policies = policies
        policy = policies.current
        self.random = random
        self.trace = trace
        topics = TopicCounter(topicLabels)
        self.log = log
    }

    /// The moment of this turn, by the wall clock.
    var now: Moment { Moment(milliseconds: scheduler.wallMilliseconds) }

    /// A number that this shard has never given before: for connections and tickets.
    func drawNumber() -> UInt64 {
        lastNumber += 1
        return lastNumber
    }

    /// The shard that owns a device.
    func home(of device: DeviceIdentity) -> Int { device.home(among: outbox.shardCount) }

    /// Takes over the newest access policy.
    func updatePolicy() { policy = policies.current }

    /// Replaces the access policy of the whole relay, and tells every shard.
    func replacePolicy(_ policy: AccessPolicy) {
        policies.replace(policy)
        outbox.sendToAll(.registry(.policyChanged(generation: policy.generation)))
    }

    /// The relay is stopping.
    func beginDrain() { isDraining = true }

    /// How connections to the provider ports end, for the log and for metrics.
    var providerEnds: ConnectionEnds { ends(of: .provider) }
    /// How connections to the device port end, for the log and for metrics.
    var deviceEnds: ConnectionEnds { ends(of: .device) }

    private func ends(of port: ConnectionEnds.Port) -> ConnectionEnds {
        ConnectionEnds(port: port, log: log) { [unowned self] in
            measures.ends[port, default: [:]][$0, default: 0] += 1
        }
    }
}
