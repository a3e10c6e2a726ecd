import PostriderCluster
import PostriderNotifications
import PostriderSeededRandom
import PostriderStorage

/// Faults that somebody builds into the world, each of which a checker must report.
enum ClusterFault: CaseIterable {
    /// A node watches heartbeats for a third of the lease only.
    case impatience
    /// The database does not compare the heartbeat of a node that is declared dead, and is slow to change.
    case blindness
    /// A release of partitions is executed a second time, seconds later.
    case repetition
    /// The clock of a node stands still while the node is paused.
    case stoppedClock
    /// A node gives a partition up before it has stopped to serve it.
    case haste
    /// The ledger's store does not compare its changes with the placement, and a clock stands still.
    case missingFence
    /// A node that was killed is never declared dead.
    case patience
}

/// What is checked.
enum ClusterChecker: CaseIterable {
    /// A partition that a node serves is its own in the database, and so no two nodes serve one.
    case ownership
    /// What is committed is in a partition of the node that has committed it.
    case fence
    /// Without further faults, every node is a member, all partitions are served, and the numbers are even.
    case rest
}

/// Memberships of several nodes on one database. A seed decides how long each request takes, which answers are lost,
/// and which nodes are paused, killed, cut off or ended.
final class ClusterWorld {
    struct Finding: CustomStringConvertible {
        let checker: ClusterChecker
        let description: String
    }

    /// What waits for its time. Times are real; each node has a clock of its own.
    private struct Event {
        let time: UInt64
        let run: () -> Void
    }

    let cluster = MemoryCluster(partitions: 24)
    let fault: ClusterFault?
    private(set) var now: UInt64 = 1_000_000_000
    private(set) var finding: Finding?
    private(set) var moves = 0
    /// Whether there are no more faults.
    private(set) var isHealed = false
    var random: SplitMix64
    private(set) var nodes: [ClusterWorldNode] = []
    private var events: [Event] = []

    private let checkers: Set<ClusterChecker>

    init(
        seed: UInt64, fault: ClusterFault? = nil, checkers: Set<ClusterChecker> = Set(ClusterChecker.allCases)
    ) {
        random = SplitMix64(seed: seed)
        self.checkers = checkers
        self.fault = fault
        for number in 0..<4 {
            guard let name = NodeName("node-\(number)") else { preconditionFailure("a good name") }
            nodes.append(ClusterWorldNode(name, in: self))
        }
    }

    // MARK: - Time

    func after(_ milliseconds: UInt64, _ run: @escaping () -> Void) {
        at(now + milliseconds * 1_000_000, run)
    }

    func at(_ time: UInt64, _ run: @escaping () -> Void) {
        let place = events.firstIndex { $0.time < time } ?? events.endIndex
        events.insert(Event(time: time, run: run), at: place)
    }

    func chance(_ one: UInt64) -> Bool { random.next(upperBound: one) == 0 }

    func draw(_ range: ClosedRange<UInt64>) -> UInt64 { UInt64.random(in: range, using: &random) }

    /// Lets everything happen that is due in this time.
    private func pass(_ milliseconds: UInt64) {
        let end = now + milliseconds * 1_000_000
        while finding == nil, let event = events.last, event.time <= end {
            events.removeLast()
            now = max(now, event.time)
            event.run()
            check()
        }
        now = end
        check()
    }

    // MARK: - A run

    /// Lets faults happen for about a minute, and then waits until everything is at rest.
    func run() {
        for node in nodes { after(draw(0...3000)) { node.start() } }
        for _ in 0..<120 where finding == nil {
            pass(draw(1...600))
            trouble()
        }
        isHealed = true
        cluster.disk.fault = nil
        for node in nodes { node.heal() }
        for _ in 0..<80 where finding == nil { pass(100) }
        if finding == nil { checkRest() }
    }

    private func trouble() {
        let node = nodes[Int(draw(0...3))]
        switch draw(0...9) {
        case 0, 1: node.pause(milliseconds: draw(1...4000))
        case 2, 3: node.cut(milliseconds: draw(1...4000))
        case 4:
            let away = StoreError(.unreachable, "The database is away.")
            cluster.disk.fault = away
            after(draw(1...4000)) { self.cluster.disk.fault = nil }
        case 5, 6:
            node.kill()
            after(draw(1...4000)) { node.start() }
        case 7: node.leave()
        case 8: node.drain()
        default: break
        }
        for node in nodes where node.hasEnded { node.start() }
    }

    // MARK: - Checks

    func report(_ checker: ClusterChecker, _ text: String) {
        guard finding == nil, checkers.contains(checker) else { return }
        finding = Finding(checker: checker, description: "at \(now / 1_000_000) ms: \(text)")
    }

    func noteMoves(_ count: Int) { moves += count }

    private func check() {
        for node in nodes {
            for partition in node.served where cluster.placement.owner(of: partition) != node.name {
                let owner = cluster.placement.owner(of: partition)?.text ?? "nobody"
                report(.ownership, "\(node.name) serves \(partition), which \(owner) has")
            }
        }
        let node = nodes[Int(draw(0...3))]
        let partition = Partition(Int(draw(0...23)))
        if node.commits(to: partition, row: QueueRow(Int64(now))),
            cluster.placement.owner(of: partition) != node.name
        {
            report(.fence, "\(node.name) has committed to \(partition)")
        }
    }

    private func checkRest() {
        let counts = nodes.map(\.served.count)
        if counts != [6, 6, 6, 6] { report(.rest, "the nodes serve \(counts)") }
    }
}
