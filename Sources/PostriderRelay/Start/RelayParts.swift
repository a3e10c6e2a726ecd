import PostriderNotifications
import PostriderProviderAPI
import PostriderTransport

/// What the threads of a relay share.
struct RelayParts: Sendable {
    let tls: RelayTLS
    /// Counts and limits connections by their source.
    let gate: ConnectionLimiter
    let refusalPace = RefusalPace()
    let mailboxes: RelayMailboxes
    let latches: RelayLatches
    let rows: RowSequence
    /// The access policy, which changes while the relay runs.
    let policies: PolicyInForce
    /// The settings, which a reload changes.
    let settings: SettingsInForce
    let ledgerMeasures: LedgerMeasures
    let topicLabels = TopicLabels()
    /// Nil without a cluster.
    let node: NodeThread?
    /// Nil if nothing is traced.
    let trace: TraceThread?
    let log: Log
}

/// What the start and the end of a relay wait for.
struct RelayLatches: Sendable {
    /// Counted down by each shard when it has added what was loaded.
    let ready: CountDownLatch
    /// Counted down by each shard when its drain is over.
    let drained: CountDownLatch
    /// Counted down when the ledger has closed its store.
    let closed = CountDownLatch(from: 1)
    /// Counted down by each shard when its loop ends.
    let stopped: CountDownLatch

    init(shards: Int) {
        ready = CountDownLatch(from: shards)
        drained = CountDownLatch(from: shards)
        stopped = CountDownLatch(from: shards)
    }
}
