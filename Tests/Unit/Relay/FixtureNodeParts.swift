import PostriderCluster
import PostriderNotifications
import PostriderStorage
import PostriderTransport

@testable import PostriderRelay

/// Faults that somebody builds into the nodes of a ``NodesFixture``, each of which a checker must report.
enum NodesFault: CaseIterable {
    /// The ledger's store does not compare its changes with the placement.
    case missingFence
    /// The rows of a node do not rise above those of the devices that it takes over.
    case fallingRows
    /// A node goes on to serve after the end of its lease.
    case endlessService
    /// A partition becomes free before the shards have given it up.
    case hastyRelease
    /// Providers' requests do not wait while their partition moves.
    case impatience
    /// A provider's shard does not wait for what a former home returns.
    case hastyRecall
    /// A node that gives a partition up keeps the links of its devices.
    case lastingLinks
    /// What was removed from the queue stays in the database.
    case lastingRows
    /// A shard gets what a partition has twice.
    case twiceTaken
    /// A node that takes a partition does not get its channels.
    case lostChannels
    /// A node that takes a partition does not get what its channels store.
    case lostBroadcasts
    /// A channel that is deleted stays in the database.
    case lastingChannels
    /// A node that takes a partition does not get its receipts of Web Push.
    case lostReceipts
    /// A node that takes a partition does not get its subscriptions of Web Push.
    case lostWebSubscriptions
    /// A node forgets the subscriptions of devices when a partition has another home.
    case lostSubscriptions
}

/// The links of one node of a ``NodesFixture``, as this end sees them.
struct FixtureWires {
    /// The node at the other end of each link that is open.
    var open: [Int: FixtureNode] = [:]
    /// The links that this node has opened.
    var outgoing: Set<Int> = []
    /// Links over which nothing arrives before a time.
    var held: [Int: UInt64] = [:]
    private var arrived: [Int: [[UInt8]]] = [:]

    /// The other end has sent something.
    mutating func arrive(_ bytes: [UInt8], over link: Int) {
        if open[link] != nil { arrived[link, default: []].append(bytes) }
    }

    /// Closes this end and returns the other one's node.
    mutating func close(_ link: Int) -> FixtureNode? {
        (held[link], arrived[link]) = (nil, nil)
        return open.removeValue(forKey: link)
    }

    /// Removes and returns the first of what has arrived.
    mutating func take(from link: Int, at now: UInt64, _ portion: (Int) -> Int) -> [[UInt8]] {
        guard held[link] ?? 0 <= now, var waiting = arrived[link] else { return [] }
        defer { arrived[link] = waiting }
        return FixtureNode.take(&waiting, portion)
    }
}

/// The clock of one node: its timers do not fire while the node is paused, and not after its end.
final class FixtureNodeClock: Scheduler {
    private let clock: HandClock
    var isStopped = false
    private var missed: [() -> Void] = []

    init(_ clock: HandClock) { self.clock = clock }

    var now: UInt64 { clock.now }
    var wallMilliseconds: Int64 { clock.wallMilliseconds }

    func makeTimer(_ fire: @escaping () -> Void) -> any LoopTimer {
        clock.makeTimer { [unowned self] in
            guard isStopped else { return fire() }
            missed.append(fire)
        }
    }

    /// Fires what was missed.
    func goOn() {
        isStopped = false
        let waiting = missed
        missed = []
        for fire in waiting { fire() }
    }
}

/// The store of a node's ledger, which fails while the database is cut from the node.
final class FixtureStore: PartitionStore {
    private let partitions: MemoryPartitionStore
    private let writer: any Store
    private let fault: NodesFault?
    private let isCut: () -> Bool
    private let isDeaf: () -> Bool
    /// Rows whose storing was refused, and which may be there all the same: the next batch removes them.
    private var doubtful: [QueueRow] = []

    /// The store of a member, which may have a fault.
    init(
        of member: MemoryClusterStore, _ fault: NodesFault?, on disk: MemoryStore.Disk,
        isCut: @escaping () -> Bool, isDeaf: @escaping () -> Bool
    ) {
        partitions = MemoryPartitionStore(of: member)
        writer = fault == .missingFence ? MemoryStore(disk: disk) : partitions
        self.fault = fault
        self.isCut = isCut
        self.isDeaf = isDeaf
    }

    private var failure: StoreError? {
        isCut() ? StoreError(.unreachable, "The database does not answer.") : nil
    }

    private func check() throws(StoreError) { if let failure { throw failure } }

    func loadRegistry() throws(StoreError) -> Registry {
        try check()
        return try partitions.loadRegistry()
    }

    func scanQueue(_ visit: (QueueEntry) -> Void) throws(StoreError) -> QueueRow {
        try check()
        return try partitions.scanQueue(visit)
    }

    func load(_ wanted: Set<Partition>, visit: (QueueEntry) -> Void) throws(StoreError) -> Registry {
        try check()
        var registry = try partitions.load(wanted, visit: visit)
        if fault == .lostChannels { registry.channels = [] }
        if fault == .lostBroadcasts { registry.broadcasts = [] }
        if fault == .lostWebSubscriptions { registry.webSubscriptions = [] }
        return registry
    }

    func loadReceipts() throws(StoreError) -> [Receipt] {
        try check()
        return try partitions.loadReceipts()
    }

    func loadReceipts(of wanted: Set<Partition>) throws(StoreError) -> [Receipt] {
        try check()
        return fault == .lostReceipts ? [] : try partitions.loadReceipts(of: wanted)
    }

    func apply(_ changes: [RegistryChange], completion: @escaping (Result<Void, StoreError>) -> Void) {
        if let failure { return completion(.failure(failure)) }
        let lasting = changes.filter { if case .removeChannel = $0 { true } else { false } }
        guard fault != .lastingChannels || lasting.isEmpty else { return completion(.success(())) }
        writer.apply(changes, completion: completion)
    }

    func commit(_ batch: QueueBatch, completion: @escaping (Result<Void, StoreError>) -> Void) {
        if let failure { return completion(.failure(failure)) }
        var batch = batch
        batch.settled += doubtful
        if fault == .lastingRows { batch.settled = [] }
        writer.commit(batch) { [self] result in
            guard isDeaf() else {
                if result.isSuccess { doubtful = [] }
                return completion(result)
            }
            // As a store does that does not know whether a batch was written.
            doubtful += batch.enqueued.map(\.row)
            completion(.failure(StoreError(.inputOutput, "The answer is lost.")))
        }
    }

    func read(_ rows: [QueueRow], completion: @escaping (Result<[QueuedNotification], StoreError>) -> Void) {
        if let failure { return completion(.failure(failure)) }
        partitions.read(rows, completion: completion)
    }

    func close() {}
}

/// The trace of one node, in memory.
final class FixtureTrace {
    /// Posts a message to a shard.
    var post: (ShardMessage, Int) -> Void = { _, _ in }
    private let losses = TraceLosses()
    private var requests: [TraceRequest] = []
    private let clock: FixtureNodeClock
    private lazy var writer = TraceWriter(
        MemoryTrace(), sample: 1, losses: losses, log: .none,
        now: Moment(milliseconds: clock.wallMilliseconds), readClock: { [clock] in clock.now },
        post: { [unowned self] in post($0, $1) }, onClosed: {})

    init(_ clock: FixtureNodeClock) { self.clock = clock }

    func recorder(ofShard shard: Int) -> TraceRecorder {
        TraceRecorder(ofShard: shard, sample: 1, losses: losses) { [unowned self] in
            requests.append($0)
            return true
        }
    }

    /// Writes what was recorded, and answers. Returns whether there was anything.
    func turn() -> Bool {
        let some = requests
        requests = []
        writer.receive(some)
        while writer.hasWork { writer.work() }
        let isDue = writer.nextDeadline.map { $0 <= clock.now } ?? false
        if isDue { writer.expire() }
        return !some.isEmpty || isDue
    }
}
