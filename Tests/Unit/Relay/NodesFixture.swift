import PostriderCluster
import PostriderCourier
import PostriderNotifications
import PostriderStorage
import RelayFixtures

@testable import PostriderDeviceQueue
@testable import PostriderProviderAPI
@testable import PostriderRelay

/// Some nodes of one cluster on a database in memory, without sockets and threads: real shards, ledgers, memberships
/// and switches. The test moves the clock.
final class NodesFixture {
    let clock = HandClock()
    let database = MemoryCluster()
    private(set) var nodes: [NodeName: FixtureNode] = [:]

    /// Devices, each of a partition of its own, whose app has registered.
    let devices = (0..<16).map { DeviceIdentity(high: UInt64($0) + 1, low: UInt32($0) * 61) }

    init() {
        let changes = devices.flatMap { device -> [RegistryChange] in
            let record = DeviceRecord(
                identity: device, secretDigest: [UInt8](repeating: 7, count: 32), name: "\(device)",
                enrolledAt: Samples.now)
            return [.putDevice(record), .putRegistration(Samples.registration(on: device))]
        }
        MemoryStore(disk: database.disk).apply(changes + [.addTokenSecret(Provider.secret)]) { _ in }
    }

    /// Starts a node with links to all others.
    @discardableResult
    func start(_ text: String, shards: Int = 2) throws -> FixtureNode {
        guard let name = NodeName(text) else { preconditionFailure("\(text) is a name") }
        let node = try FixtureNode(name, shards: shards, in: self)
        for other in nodes.values.sorted(by: { $0.name < $1.name }) where other.isAlive {
            link(node, other)
            link(other, node)
        }
        nodes[name] = node
        return node
    }

    private var lastLink = 0

    /// Opens a link from one node to another.
    func link(_ from: FixtureNode, _ to: FixtureNode) {
        lastLink += 1
        from.begin(lastLink, to: to, isOutgoing: true)
        to.begin(lastLink, to: from, isOutgoing: false)
    }

    /// Lets everything happen that is under way.
    func settle() {
        let some = nodes.values.sorted { $0.name < $1.name }
        while some.map({ $0.turn() }).contains(true) {}
    }

    /// Lets time pass, in steps of less than a heartbeat.
    func wait(milliseconds: Int) {
        for _ in 0..<milliseconds / 50 {
            clock.advance(byMilliseconds: 50)
            for node in nodes.values.sorted(by: { $0.name < $1.name }) { node.lookAtClock() }
            settle()
        }
    }
}

/// A node of a ``NodesFixture``.
final class FixtureNode {
    let name: NodeName
    let fixture: NodesFixture
    private(set) var shards: [Shard] = []
    private(set) var isAlive = true
    /// Whether the database does not answer it.
    var isCut = false
    private(set) var end: NodeMember.End?
    /// The results of pushes by their numbers.
    private(set) var results: [Int32: PushResult] = [:]
    private let member: MemoryClusterStore
    private var ledger: Ledger?
    private let serving = ServingTime(until: 0)
    private let rows = RowSequence(after: QueueRow(0))
    private var mail: [[ShardMessage]]
    private var commands: [LedgerCommand] = []
    private var events: [NodeEvent] = []
    private var outgoing: [NodeMessage] = []
    private var links: [Int: FixtureNode] = [:]
    private lazy var messages = NodeSwitch(
        NodeSwitch.Surroundings(
            shardCount: shards.count,
            post: { [unowned self] in
                mail[$1].append($0)
                return true
            },
            postAnswer: { [unowned self] in mail[$1].append($0) }, takesRequest: { _ in true },
            send: { [unowned self] bytes, link in links[link]?.hear(bytes, over: link) }, log: .none))
    private lazy var work = NodeMember(
        name, .usual,
        NodeMember.Surroundings(
            shardCount: shards.count, serving: serving,
            post: { [unowned self] message in for index in mail.indices { mail[index].append(message) } },
            renew: { [unowned self] in events.append(.renewed(version: $0)) },
            ask: { [unowned self] request in
                guard !isCut else {
                    return events.append(
                        .answered(.failed, StoreError(.unreachable, "The database does not answer.")))
                }
                let (answer, failure) = member.answer(request)
                if case .joined(true) = answer { openLedger() }
                events.append(.answered(answer, failure))
            },
            take: { [unowned self] in commands.append(.take($0, above: $1)) }, seen: { _ in },
            ended: { [unowned self] in end = $0 }, log: .none))

    init(_ name: NodeName, shards count: Int, in fixture: NodesFixture) throws {
        self.name = name
        self.fixture = fixture
        member = MemoryClusterStore(fixture.database, name: name, address: "\(name):1")
        mail = Array(repeating: [], count: count)
        let policies = PolicyInForce(Provider.shared.authority)
        for index in 0..<count {
            let outbox = Outbox(
                ownIndex: index,
                shards: (0..<count).map { other in
                    { [unowned self] in
                        mail[other] += $0
                        $0 = []
                        return true
                    }
                },
                ledger: { [unowned self] in
                    commands += $0
                    $0 = []
                    return true
                },
                nodes: { [unowned self] in
                    outgoing += $0
                    $0 = []
                    return true
                }, serving: serving)
            outbox.places = .nowhere
            let context = ShardContext(
                index: index, scheduler: fixture.clock, outbox: outbox, rows: rows,
                codec: try DeviceTokenCodec(secrets: [Provider.secret]), policies: policies,
                random: Numbers(), log: .none)
            let shard = Shard(
                context, migrator: ConnectionMigrator(detach: { _ in nil }, adopt: { _ in nil }),
                onLeft: { [unowned self] in events.append(.left(ticket: $0)) })
            shard.providers.sessions.others.append { [unowned self] in results[$0.stream] = $1 }
            shard.start()
            shards.append(shard)
        }
        events.append(.ready)
        work.turn(at: fixture.clock.now)
    }

    /// Ends the node without a word, as SIGKILL does.
    func kill() {
        isAlive = false
        for link in links.keys.sorted() { endLink(link) }
    }

    private func openLedger() {
        let store = MemoryPartitionStore(of: member)
        ledger = Ledger(
            store: store, shardCount: shards.count, log: .none,
            post: { [unowned self] in mail[$1].append($0) }, copy: { _, _ in }, rest: { _ in },
            time: LedgerTime(now: { [clock = fixture.clock] in clock.now }, alarm: { _ in }, arrived: { 0 }),
            gather: GroupCommitPolicy(least: .max),
            take: { [unowned self] in take($0, above: $1, from: store) }, onClosed: {})
    }

    private func take(_ partitions: Set<Partition>, above row: QueueRow, from store: MemoryPartitionStore) {
        do throws(StoreError) {
            let loaded = try LoadedStore(store, partitions, shards: shards.count)
            rows.rise(above: max(row, loaded.lastRow))
            for index in mail.indices { mail[index].append(.registry(.taken(loaded))) }
            events.append(.taken(partitions))
        } catch {
            events.append(.notTaken(partitions, error))
        }
    }

    // MARK: Links

    func begin(_ link: Int, to other: FixtureNode, isOutgoing: Bool) {
        links[link] = other
        guard isOutgoing else { return }
        messages.opened(link)
        work.opened(link, to: other.name, at: fixture.clock.now)
    }

    private func endLink(_ link: Int) {
        guard let other = links.removeValue(forKey: link) else { return }
        messages.ended(link)
        for index in mail.indices { mail[index].append(.edge(.linkEnded(link: link))) }
        if isAlive { work.ended(link, to: other.name, at: fixture.clock.now) }
        other.endLink(link)
    }

    private func hear(_ bytes: [UInt8], over link: Int) {
        do throws(CourierError) {
            try messages.receive(bytes.span, from: link)
        } catch {
            preconditionFailure("nodes keep to the protocol: \(error)")
        }
    }

    // MARK: Time

    /// What the timer of the node's thread does.
    func lookAtClock() {
        let now = fixture.clock.now
        if isAlive, let moment = work.wakesAt, moment <= now { work.turn(at: now) }
    }

    /// Lets everything happen that is under way here. Returns whether anything was.
    func turn() -> Bool {
        guard isAlive else { return false }
        var hasWorked = false
        while !events.isEmpty {
            hasWorked = true
            take(events.removeFirst())
        }
        for index in shards.indices {
            var messages = mail[index]
            mail[index] = []
            hasWorked = hasWorked || !messages.isEmpty
            shards[index].receive(&messages)
            shards[index].turnEnded()
        }
        if let ledger, !commands.isEmpty {
            hasWorked = true
            let some = commands
            commands = []
            ledger.receive(some)
        }
        for message in outgoing { messages.pass(message) }
        hasWorked = hasWorked || !outgoing.isEmpty
        outgoing = []
        return hasWorked
    }

    private func take(_ event: NodeEvent) {
        let now = fixture.clock.now
        switch event {
        case .answered(let answer, let failure): work.answered(answer, failure, at: now)
        case .claimed, .stop: break
        case .taken(let partitions): work.taken(partitions, at: now)
        case .notTaken(let partitions, let error): work.notTaken(partitions, error)
        case .left(let ticket): work.left(ticket, at: now)
        case .renewed(let version): work.renewed(version)
        case .ready: work.begin(at: now)
        case .drain: work.drain(at: now)
        case .leave: work.leave(at: now)
        }
    }

    func leave() { events.append(.leave) }

    // MARK: What tests do and look at

    /// Posts a push to this node.
    func push(_ number: Int32, to device: DeviceIdentity) {
        let address = ReplyAddress(shard: 0, stream: number, connection: 99)
        let notification = Samples.notification(
            UInt64(number), expiration: .at(Samples.now.advanced(byMilliseconds: 600_000)), device: device)
        if let rejection = shards[0].home.route(notification, address) {
            results[number] = .rejected(rejection)
        }
    }

    /// The number of partitions that the node serves.
    var servedCount: Int { work.servedCount(at: fixture.clock.now) }

    /// The shard that has a device; nil if none has.
    func home(of device: DeviceIdentity) -> Shard? { shards.first { $0.home.entries[device] != nil } }

    /// The counters of all shards.
    var tally: Tally { shards.reduce(into: Tally()) { $0 += $1.home.tally } }

    /// Lets a device connect at its home, and returns its connection.
    func connect(_ device: DeviceIdentity) -> FixtureSession? {
        guard let shard = home(of: device), let entry = shard.home.entries[device] else { return nil }
        let session = FixtureSession()
        entry.session = session
        shard.home.with(entry) { device, now, tally, effects in
            device.connected(now: now, &tally, &effects)
        }
        return session
    }
}
