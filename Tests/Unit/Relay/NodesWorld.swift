import PostriderCluster
import PostriderDeviceQueue
import PostriderNotifications
import PostriderSeededRandom
import PostriderStorage
import RelayFixtures

@testable import PostriderRelay

/// Three nodes of one cluster with 16 devices under a seed, which decides what happens, and how much of what waits is
/// handled at a time. Devices connect to any node.
final class NodesWorld {
    static let partitions = 24
    let fixture: NodesFixture
    private(set) var finding: Finding?
    var pushes: [NodesWorldPush] = []
    let devices: [NodesWorldDevice]
    var channels = NodesWorldChannels()
    var random: SplitMix64
    /// The numbers of shards by nodes.
    let shards: [NodeName: Int]
    /// Counts events.
    private(set) var step = 0
    /// Whether nothing fails.
    var isCalm = false
    /// A node to which nobody posts pushes or connects any more, because it is about to end.
    var retiring: FixtureNode?
    /// How often devices were welcomed through a node that is not their home.
    private(set) var passages = 0
    /// The number of the last request of a provider or a sender.
    var attempts: Int32 = 0
    private var planned: [(time: UInt64, run: () -> Void)] = []
    /// All processes, which others may still know.
    private(set) var processes: [FixtureNode] = []

    init(seed: UInt64, fault: NodesFault? = nil) {
        random = SplitMix64(seed: seed)
        fixture = NodesFixture(
            partitions: Self.partitions, fault: fault, authority: NodesWorldChannels.authority,
            topics: [Samples.topic] + NodesWorldChannels.topics + [Self.webTopic],
            seed: seed)
        devices = fixture.devices.map(NodesWorldDevice.init)
        let names = ["a", "b", "c"].compactMap(NodeName.init)
        shards = Dictionary(uniqueKeysWithValues: zip(names, 1...3))
        for device in devices {
            device.onEvent = { [unowned self, unowned device] in heard($0, by: device) }
        }
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
        for device in devices { look(at: device, portion) }
        noteAnswers()
        noteOrders()
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

    // MARK: Devices

    /// Connects a device that is away to any node, unless it was asked to wait.
    func connect(_ device: NodesWorldDevice) throws {
        guard device.isReady(at: fixture.clock.now),
            let node = one(of: nodes.filter { $0.isAwake && $0 !== retiring })
        else { return }
        try device.connect(to: node, at: draw(0...node.shards.count - 1))
    }

    private func look(at device: NodesWorldDevice, _ portion: (Int) -> Int) {
        let now = fixture.clock.now
        if let complaint = device.listen(at: now, portion) {
            report(
                .conduct, "device \(device.identity) at \(device.link?.node.name.text ?? ""): \(complaint)")
        }
        // It finds out some time that its node is dead.
        if device.link?.node.isAlive == false, draw(0...7) == 0 { device.leave(isAbrupt: true) }
        device.lookAround(at: now, isPatient: draw(0...2) > 0)
    }

    func notePassage() { passages += 1 }

    // MARK: Pushes

    /// Posts a new push, to any node, or to this one for a device that it serves if there is one.
    func push(at node: FixtureNode? = nil) {
        let own = devices.indices.filter { node?.serves(devices[$0].identity) ?? true }
        let device = one(of: own) ?? 0
        let kind = draw(0...19)
        switch kind {
        case 0: push(to: device, until: .nowOrNever, at: node)
        case 2..<8: send(to: device, at: node)
        case 1:
            let end = Moment(milliseconds: fixture.clock.wallMilliseconds + Int64(draw(100...5_000)))
            push(to: device, until: .at(end), at: node)
        default: push(to: device, collapse: kind < 14 ? "\(kind % 2)" : nil, at: node)
        }
    }

    /// Posts a new push for a device.
    func push(
        to device: Int, collapse: String? = nil, until expiration: Expiration? = nil,
        at node: FixtureNode? = nil
    ) {
        pushes.append(
            NodesWorldPush(
                number: Int32(pushes.count + 1), device: device, collapse: collapse,
                expiration: expiration ?? .at(Samples.now.advanced(byMilliseconds: 600_000)),
                isKept: expiration == nil, isWeb: false, postedAt: step))
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
        if pushes[index].isWeb { return send(pushes[index], as: attempts, over: node, at: shard) }
        let device = devices[pushes[index].device].identity
        node.push(pushes[index].notification(for: device), as: attempts, at: shard)
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
                if pushes[index].isWeb { notePromise(to: index, as: number, of: node) }
            case .rejected(.serviceUnavailable, _)?, .rejected(.tooManyRequests, _)?:
                pushes[index].attempt = nil
            case let other?: report(.answers, "push \(pushes[index].number) is answered \(other)")
            }
        }
    }

    // MARK: Findings

    func report(_ checker: Checker, _ text: String) {
        guard finding == nil else { return }
        finding = Finding(
            checker: checker, description: "step \(step), \(fixture.clock.now / 1_000_000) ms: \(text)")
    }
}
