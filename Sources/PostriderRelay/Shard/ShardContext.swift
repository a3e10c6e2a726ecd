import PostriderNotifications
import PostriderProviderAPI
import PostriderTransport

/// What all parts of one shard use: its index, the clock, the outbox, the token codec, the access policy, randomness,
/// the trace, the log and the counters for metrics. Confined to the shard's thread.
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
    var isDraining: Bool { progress.isDraining }
    /// Providers' requests that wait because their partition moves to another node.
    let waiting: WaitingRequests
    /// The counters for metrics, except those by topic.
    var measures = ShardMeasures()
    /// Counts notifications by topic, for metrics.
    var topics: TopicCounter
    /// The quotas of teams and topics.
    var quotas = ShardQuotas()
    private var progress = (isDraining: false, lastNumber: 0 as UInt64)

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
        waiting = WaitingRequests(index: index, outbox: outbox, scheduler)
    }

    /// The wall-clock time of this turn.
    var now: Moment { Moment(milliseconds: scheduler.wallMilliseconds) }

    /// A number that this shard has never used before: for connections and tickets.
    func drawNumber() -> UInt64 {
        progress.lastNumber += 1
        return progress.lastNumber
    }

    /// The index of the home of a device, among the shards of the node that has its partition.
    func home(of device: DeviceIdentity) -> Int { device.home(among: outbox.shardCount) }

    /// Whether another node of the cluster may serve a device by now.
    func isElsewhere(_ device: DeviceIdentity) -> Bool { outbox.isElsewhere(device, at: scheduler.now) }

    /// Whether another node of the cluster may decide about the channels of an app by now.
    func isElsewhere(_ owner: ChannelOwner) -> Bool { outbox.isElsewhere(owner, at: scheduler.now) }

    /// A number of milliseconds in this range, drawn at random: when a device is to come back, so that not all come at
    /// the same time.
    func drawPause(in range: Range<UInt32>) -> UInt32 {
        range.lowerBound + UInt32(random.next() % UInt64(range.count))
    }

    /// An identity for a new device that satisfies `isFit` and whose home is on this node; nil if none was found.
    func drawIdentity(
        draws: Int = Limits.identityDraws, _ isFit: (DeviceIdentity) -> Bool = { _ in true }
    ) -> DeviceIdentity? {
        for _ in 0..<draws {
            let identity = DeviceIdentity(
                high: random.next(), low: UInt32(truncatingIfNeeded: random.next()))
            if !isElsewhere(identity), isFit(identity) { return identity }
        }
        return nil
    }

    /// How often enrolment keys were used, on all shards.
    var enrolmentUses: EnrolmentUses { policies.uses }

    /// Reads the newest access policy.
    func updatePolicy() { policy = policies.current }

    /// Replaces the access policy of the whole relay, and tells every shard.
    func replacePolicy(_ policy: AccessPolicy) {
        policies.replace(policy)
        outbox.sendToAll(.registry(.policyChanged(generation: policy.generation)))
    }

    /// Notes in the trace that a request on a connection of this shard was refused.
    func noteRefused(
        _ reason: Rejection, of identity: NotificationIdentity?, topic: @autoclosure () -> Topic?,
        in environment: Environment, on connection: UInt64
    ) {
        trace.note(at: now) {
            TraceRefusal(
                reason, at: now, of: identity, topic: topic(), in: environment,
                on: TraceEvent.connection(connection, ofShard: index))
        }
    }

    /// The relay is stopping.
    func beginDrain() { progress.isDraining = true }

    /// Logs and counts how connections to the provider ports end.
    var providerEnds: ConnectionEnds { ends(of: .provider) }
    /// Logs and counts how connections to the device port end.
    var deviceEnds: ConnectionEnds { ends(of: .device) }
    /// Logs and counts how connections to the web port end.
    var webEnds: ConnectionEnds { ends(of: .web) }
    /// Logs how connections to the console end.
    var consoleEnds: ConnectionEnds { ends(of: .console) }

    private func ends(of port: ConnectionEnds.Port) -> ConnectionEnds {
        ConnectionEnds(port: port, log: log) { [unowned self] in
            measures.ends[port, default: [:]][$0, default: 0] += 1
        }
    }
}
