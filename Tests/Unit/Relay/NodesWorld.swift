import PostriderCluster
import PostriderNotifications
import PostriderSeededRandom
import PostriderStorage
import RelayFixtures

@testable import PostriderDeviceQueue
@testable import PostriderRelay

/// Three nodes of one cluster with 16 devices under a seed, which decides what happens, and how much of what waits is
/// handled at a time.
final class NodesWorld {
    /// What is checked.
    enum Checker {
        /// A partition that a node serves is its own in the database, and so no two nodes serve one.
        case ownership
        /// What was answered 200 reaches its device.
        case delivery
        /// Of two pushes for one device, the second of which was posted after the answer to the first or over the same
        /// connection, the first one arrives first.
        case order
        /// The counters of each node balance.
        case balance
        /// A node draws rows above those of the devices that it has taken over.
        case rows
        /// Pushes get 200, 429 or 503.
        case answers
        /// Pushes get 200 while nothing fails, although nodes are drained and started again.
        case calm
        /// Without further faults all nodes serve the same number of partitions, and nothing waits.
        case rest
    }

    struct Finding: CustomStringConvertible {
        let checker: Checker
        let description: String
    }

    static let partitions = 24
    let fixture: NodesFixture
    private(set) var finding: Finding?
    private(set) var pushes: [NodesWorldPush] = []
    let devices: [NodesWorldDevice]
    var random: SplitMix64
    /// The numbers of shards by nodes.
    let shards: [NodeName: Int]
    /// Counts events.
    private(set) var step = 0
    /// Whether nothing fails.
    var isCalm = false
    /// A node to which nobody posts pushes any more, because it is about to end.
    var retiring: FixtureNode?
    private var attempts: Int32 = 0
    private var planned: [(time: UInt64, run: () -> Void)] = []
    /// All processes, which others may still know.
    private var processes: [FixtureNode] = []

    init(seed: UInt64, fault: NodesFault? = nil) {
        random = SplitMix64(seed: seed)
        fixture = NodesFixture(partitions: Self.partitions, fault: fault)
        devices = fixture.devices.map(NodesWorldDevice.init)
        let names = ["a", "b", "c"].compactMap(NodeName.init)
        shards = Dictionary(uniqueKeysWithValues: zip(names, 1...3))
    }

    /// The present processes, in order.
    var nodes: [FixtureNode] { fixture.nodes.values.sorted { $0.name < $1.name } }

    /// How many pushes were answered 200.
    var accepted: Int { pushes.count { $0.acceptedAt != nil } }

    /// How many notifications have moved between nodes that gave them up in order.
    var moved: UInt64 { processes.reduce(0) { $0 + $1.tally.moved } }

    func draw(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }

    func one<Element>(of some: [Element]) -> Element? { some.randomElement(using: &random) }

    // MARK: Time

    func after(_ milliseconds: Int, _ run: @escaping () -> Void) {
        planned.append((fixture.clock.now + UInt64(milliseconds) * 1_000_000, run))
    }

    /// Lets time pass, and some of what waits happen.
    func pass(_ milliseconds: Int, _ portion: (Int) -> Int) {
        fixture.clock.advance(byMilliseconds: milliseconds)
        let due = planned.filter { $0.time <= fixture.clock.now }
        planned.removeAll { $0.time <= fixture.clock.now }
        for one in due { one.run() }
        for node in nodes { node.lookAtClock() }
        check(nodes)
        // Each node may do several turns.
        for node in (nodes + nodes).shuffled(using: &random) {
            let before = fixture.database.placement
            _ = node.turn(portion)
            check(before == fixture.database.placement ? [node] : nodes)
        }
        for device in devices { device.lookAround() }
        noteAnswers()
        step += 1
    }

    // MARK: Nodes

    func start(_ name: NodeName) throws {
        if let node = fixture.nodes[name], node.isAlive { return }
        let node = try fixture.startAlone(name, shards: shards[name] ?? 1)
        processes.append(node)
    }

    /// Ends a process. The others hear of it at once, or one after the other.
    func kill(_ node: FixtureNode) {
        let isHeard = draw(0...1) == 0
        let ends = node.openLinks.compactMap { link in node.peer(over: link).map { (link, $0) } }
        node.kill(isHeard: isHeard)
        guard !isHeard else { return }
        for (link, other) in ends {
            after(draw(1...1500)) { other.whenAwake { other.dropLink(link) } }
        }
    }

    /// Opens links that are not there.
    func openLinks(_ chance: Int) {
        for from in nodes where from.isAwake {
            for to in nodes where to !== from && to.isAwake && !from.hasLink(to: to.name) {
                if draw(1...chance) == 1 { fixture.link(from, to) }
            }
        }
    }

    // MARK: Pushes

    /// Posts a new push, to any node, or to this one for a device that it serves if there is one.
    func push(at node: FixtureNode? = nil) {
        let own = devices.indices.filter { node?.serves(devices[$0].identity) ?? true }
        let device = one(of: own) ?? 0
        let number = Int32(pushes.count + 1)
        pushes.append(NodesWorldPush(number: number, device: device, postedAt: step))
        post(pushes.count - 1, at: node)
    }

    /// Posts a push that has no answer, or another one than 200.
    func post(_ index: Int, at chosen: FixtureNode? = nil) {
        guard pushes[index].attempt == nil, pushes[index].acceptedAt == nil,
            let node = chosen ?? one(of: nodes.filter { $0.isAwake && $0 !== retiring })
        else { return }
        attempts += 1
        let shard = draw(0...node.shards.count - 1)
        pushes[index].attempt = (node, attempts)
        pushes[index].place = (node, shard)
        pushes[index].last = attempts
        if pushes[index].first == 0 { pushes[index].first = attempts }
        node.push(
            pushes[index].number, to: devices[pushes[index].device].identity, as: attempts, at: shard)
    }

    private func noteAnswers() {
        for index in pushes.indices {
            guard let (node, number) = pushes[index].attempt else { continue }
            if isCalm, case .rejected(let reason, _)? = node.results[number] {
                report(.calm, "push \(pushes[index].number) at \(node.name) is answered \(reason)")
            }
            switch node.results[number] {
            case nil: if !node.isAlive { pushes[index].attempt = nil }
            case .accepted?:
                pushes[index].attempt = nil
                pushes[index].acceptedAt = step
            case .rejected(.serviceUnavailable, _)?, .rejected(.tooManyRequests, _)?:
                pushes[index].attempt = nil
            case let other?: report(.answers, "push \(pushes[index].number) is answered \(other)")
            }
        }
    }

    // MARK: Checks

    func report(_ checker: Checker, _ text: String) {
        guard finding == nil else { return }
        finding = Finding(
            checker: checker, description: "step \(step), \(fixture.clock.now / 1_000_000) ms: \(text)")
    }

    private func check(_ nodes: [FixtureNode]) {
        if let flaw = fixture.flaw { report(.rows, flaw) }
        let placement = fixture.database.placement
        for node in nodes where node.isAwake {
            for partition in placement.partitions where placement.owner(of: partition) != node.name {
                guard node.serves(DeviceIdentity(high: 1, low: UInt32(partition.number))) else { continue }
                let owner = placement.owner(of: partition)?.text ?? "nobody"
                report(.ownership, "\(node.name) serves \(partition) of \(owner)")
            }
            let tally = node.tally
            if !tally.isBalanced { report(.balance, "\(node.name): \(tally)") }
        }
    }

    /// Compares what devices got with what was answered.
    func checkArrivals() {
        for (index, device) in devices.enumerated() {
            let own = pushes.filter { $0.device == index && $0.acceptedAt != nil }
            for push in own where !device.has(push.number) {
                report(.delivery, "push \(push.number) was answered 200 and has not arrived")
            }
            var places: [NotificationIdentity: Int] = [:]
            for (place, identity) in device.arrived.enumerated() { places[identity] = place }
            for first in own {
                for second in own where first.acceptedAt ?? .max < second.postedAt || first.leads(second) {
                    let two = [first, second].compactMap { places[NodesWorldDevice.identity($0.number)] }
                    if two.count == 2, two[0] > two[1] {
                        report(.order, "push \(second.number) has arrived before \(first.number)")
                    }
                }
            }
        }
    }
}
