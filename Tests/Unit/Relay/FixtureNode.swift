import PostriderCluster
import PostriderCourier
import PostriderNotifications
import PostriderStorage
import RelayFixtures

@testable import PostriderDeviceQueue
@testable import PostriderProviderAPI
@testable import PostriderRelay

/// A node of a ``NodesFixture``.
final class FixtureNode {
    let name: NodeName
    let fixture: NodesFixture
    private(set) var shards: [Shard] = []
    private(set) var isAlive = true
    /// Whether the process does not run for now: what happens to it waits.
    var isPaused = false
    /// Whether the database does not answer it.
    var isCut = false
    /// Whether the database does what the node asks, and its answers are lost.
    var isDeaf = false
    private(set) var end: NodeMember.End?
    /// Whether it gives its partitions away.
    var isLeaving = false
    /// The results of pushes by their numbers.
    var results: [Int32: PushResult] = [:]
    private let member: MemoryClusterStore
    private var ledger: Ledger?
    private let serving = ServingTime(until: 0)
    private let rows = RowSequence(after: QueueRow(0))
    private var mail: [[ShardMessage]]
    private var commands: [LedgerCommand] = []
    private var requests: [MembershipRequest] = []
    var events: [NodeEvent] = []
    private var outgoing: [NodeMessage] = []
    private var wires = FixtureWires()
    let clock: FixtureNodeClock
    let trace: FixtureTrace?
    /// What happens to the node as soon as it runs.
    var later: [() -> Void] = []
    /// When the ledger tries removals again.
    private var ledgerRestsUntil: UInt64?
    /// A shard whose turn lasts until a time.
    var busy: (shard: Int, until: UInt64) = (0, 0)
    private lazy var messages = NodeSwitch(
        NodeSwitch.Surroundings(
            shardCount: shards.count,
            post: { [unowned self] in
                mail[$1].append($0)
                return true
            },
            postAnswer: { [unowned self] in mail[$1].append($0) }, takesRequest: { _ in true },
            send: { [unowned self] in wires.open[$1]?.wires.arrive($0, over: $1) }))
    private(set) lazy var work = NodeMember(
        name, .usual,
        NodeMember.Surroundings(
            shardCount: shards.count, serving: serving,
            post: { [unowned self] in post($0) },
            renew: { [unowned self] in events.append(.renewed(version: $0)) },
            ask: { [unowned self] in requests.append($0) },
            take: { [unowned self] in commands.append(.take($0, above: $1)) }, seen: { _ in },
            ended: { [unowned self] in end = $0 }, log: .none))

    init(_ name: NodeName, shards count: Int, in fixture: NodesFixture) throws {
        self.name = name
        self.fixture = fixture
        clock = FixtureNodeClock(fixture.clock)
        trace = fixture.hasTraces ? FixtureTrace(clock) : nil
        member = MemoryClusterStore(fixture.database, name: name, address: "\(name):1")
        mail = Array(repeating: [], count: count)
        let policies = PolicyInForce(Provider.shared.authority)
        let settings = ShardSettings(presence: PresenceExchange())
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
                }, serving: fixture.fault == .endlessService ? ServingTime(until: .max) : serving)
            outbox.places = .unknown
            let context = ShardContext(
                index: index, scheduler: clock, outbox: outbox, rows: rows,
                codec: try DeviceTokenCodec(secrets: [Provider.secret]), policies: policies,
                random: Numbers(), trace: trace?.recorder(ofShard: index) ?? TraceRecorder(), log: .none)
            let shard = Shard(
                context, settings, migrator: ConnectionMigrator(detach: { _ in nil }, adopt: { _ in nil }),
                onLeft: { [unowned self] in
                    if fixture.fault != .hastyRelease { events.append(.left(ticket: $0)) }
                })
            shard.providers.sessions.others.append { [unowned self] in results[$0.stream] = $1 }
            if fixture.fault == .impatience { context.waiting.patienceMilliseconds = 0 }
            shard.start()
            shards.append(shard)
        }
        trace?.post = { [unowned self] in mail[$1].append($0) }
        events.append(.ready)
        work.turn(at: fixture.clock.now)
    }

    /// Ends the node without a word, as SIGKILL does. The others hear of it at once, or find out themselves.
    func kill(isHeard: Bool = true) {
        isAlive = false
        clock.isStopped = true
        guard isHeard else { return }
        for link in openLinks {
            let other = wires.open[link]
            dropLink(link)
            other?.dropLink(link)
        }
    }

    // MARK: The database

    private func ask(_ request: MembershipRequest) {
        guard !isCut else {
            return events.append(
                .answered(.failed, StoreError(.unreachable, "The database does not answer.")))
        }
        let (answer, failure) = member.answer(request)
        guard !isDeaf else {
            return events.append(.answered(.failed, StoreError(.unreachable, "The answer is lost.")))
        }
        if case .joined(true) = answer { openLedger() }
        events.append(.answered(answer, failure))
    }

    private func openLedger() {
        let store = FixtureStore(
            of: member, isFenced: fixture.fault != .missingFence, on: fixture.database.disk,
            isCut: { [unowned self] in isCut }, isDeaf: { [unowned self] in isDeaf })
        ledger = Ledger(
            store: store, shardCount: shards.count, log: .none,
            post: { [unowned self] in mail[$1].append($0) }, copy: { _, _ in },
            rest: { [unowned self] in
                ledgerRestsUntil = fixture.clock.now + UInt64($0) * 1_000_000
            },
            time: LedgerTime(now: { [clock = fixture.clock] in clock.now }, alarm: { _ in }, arrived: { 0 }),
            gather: GroupCommitPolicy(least: .max),
            take: { [unowned self] in take($0, above: $1, from: store) }, onClosed: {})
    }

    private func take(_ partitions: Set<Partition>, above row: QueueRow, from store: FixtureStore) {
        do throws(StoreError) {
            let loaded = try LoadedStore(store, partitions, shards: shards.count)
            if fixture.fault != .fallingRows { rows.rise(above: max(row, loaded.lastRow)) }
            if rows.draw() <= loaded.lastRow {
                fixture.flaw = "\(name) takes rows over that are above its own"
            }
            for index in mail.indices { mail[index].append(.registry(.taken(loaded))) }
            events.append(.taken(partitions))
        } catch {
            events.append(.notTaken(partitions, error))
        }
    }

    /// Posts a message to every shard.
    private func post(_ message: ShardMessage) {
        if fixture.fault == .endlessService, case .registry(.placed) = message, servedCount == 0 { return }
        for index in mail.indices { mail[index].append(message) }
        if fixture.fault == .hastyRelease, case .registry(.leave(_, let ticket)) = message {
            for _ in shards { events.append(.left(ticket: ticket)) }
        }
    }

    // MARK: Links

    func begin(_ link: Int, to other: FixtureNode, isOutgoing: Bool) {
        wires.open[link] = other
        if isOutgoing { wires.outgoing.insert(link) }
        guard isOutgoing else { return work.opened(from: other.name, at: fixture.clock.now) }
        messages.opened(link)
        work.opened(link, to: other.name, at: fixture.clock.now)
    }

    /// The links that are open at this end.
    var openLinks: [Int] { wires.open.keys.sorted() }

    /// Whether a link leads from here to a node of this name.
    func hasLink(to other: NodeName) -> Bool { work.links[other] != nil }

    /// The node at the other end of a link.
    func peer(over link: Int) -> FixtureNode? { wires.open[link] }

    /// Nothing arrives here over a link before this time.
    func hold(_ link: Int, until time: UInt64) { wires.held[link] = time }

    /// This end hears that a link has ended.
    func dropLink(_ link: Int) {
        guard let other = wires.close(link) else { return }
        messages.ended(link)
        for index in mail.indices { mail[index].append(.edge(.linkEnded(link: link))) }
        guard isAlive else { return }
        if wires.outgoing.contains(link) {
            work.ended(link, to: other.name, at: fixture.clock.now)
        } else {
            work.ended(from: other.name)
        }
    }

    private func hear(_ bytes: [UInt8], over link: Int) {
        do throws(CourierError) {
            try messages.receive(bytes.span, from: link)
        } catch {
            preconditionFailure("nodes keep to the protocol: \(error)")
        }
    }

    // MARK: Time

    /// What the timers of the node's threads do.
    func lookAtClock() {
        guard isAwake else { return }
        let now = fixture.clock.now
        if let moment = work.wakesAt, moment <= now { work.turn(at: now) }
        if let moment = ledgerRestsUntil, moment <= now {
            ledgerRestsUntil = nil
            ledger?.settleOwed()
        }
    }

    /// Lets everything happen that is under way here, or a portion of what waits at each place. Returns whether
    /// anything was.
    func turn(_ portion: (Int) -> Int = { $0 }) -> Bool {
        guard isAwake else { return false }
        var hasWorked = trace?.turn() == true || !later.isEmpty
        for happening in Self.take(&later, { $0 }) { happening() }
        for request in Self.take(&requests, portion) {
            hasWorked = true
            ask(request)
        }
        for event in Self.take(&events, portion) {
            hasWorked = true
            take(event)
        }
        for index in shards.indices where index != busy.shard || fixture.clock.now >= busy.until {
            var messages = Self.take(&mail[index], portion)
            hasWorked = hasWorked || !messages.isEmpty
            shards[index].receive(&messages)
            shards[index].turnEnded()
        }
        if let ledger {
            let some = Self.take(&commands, portion)
            hasWorked = hasWorked || !some.isEmpty
            if !some.isEmpty { ledger.receive(some) }
        }
        for message in Self.take(&outgoing, portion) {
            hasWorked = true
            if fixture.fault == .hastyRecall,
                case .handover(.recall(_, let shard, let ticket)) = message.message
            {
                mail[shard].append(.handover(.recalled(place: shard, ticket: ticket, shards: 1)))
            }
            messages.pass(message)
        }
        for link in openLinks {
            for bytes in wires.take(from: link, at: fixture.clock.now, portion) where wires.open[link] != nil
            {
                hasWorked = true
                hear(bytes, over: link)
            }
        }
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
}
