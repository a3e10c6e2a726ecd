import PostriderChannels
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
    /// The answers to orders about channels by their numbers.
    var answers: [Int32: ChannelAnswer] = [:]
    /// Makes requests of Web Push. How they are answered is among the results, too.
    let sender = FixtureSender()
    let member: MemoryClusterStore
    var ledger: Ledger?
    let serving = ServingTime(until: 0)
    let rows = RowSequence(after: QueueRow(0))
    var mail: [[ShardMessage]]
    var commands: [LedgerCommand] = []
    var requests: [MembershipRequest] = []
    var events: [NodeEvent] = []
    var outgoing: [NodeMessage] = []
    var wires = FixtureWires()
    /// The connections of devices.
    var lines = FixtureLines()
    let clock: FixtureNodeClock
    let trace: FixtureTrace?
    /// What happens to the node as soon as it runs.
    var later: [() -> Void] = []
    /// When the ledger tries removals again.
    var ledgerRestsUntil: UInt64?
    /// A shard whose turn lasts until a time.
    var busy: (shard: Int, until: UInt64) = (0, 0)
    private(set) lazy var messages = NodeSwitch(
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
        let policies = PolicyInForce(fixture.authority)
        var settings = ShardSettings(presence: PresenceExchange())
        settings.webOrigin = WebFixture.origin
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
                random: fixture.makeRandom(), trace: trace?.recorder(ofShard: index) ?? TraceRecorder(),
                log: .none)
            let shard = Shard(
                context, settings, migrator: makeMigrator(of: index),
                onLeft: { [unowned self] in
                    if fixture.fault != .hastyRelease { events.append(.left(ticket: $0)) }
                })
            shard.providers.sessions.others.append { [unowned self] in results[$0.stream] = $1 }
            shard.providers.sessions.otherOrders.append { [unowned self] in answers[$0.stream] = $1 }
            if fixture.fault == .impatience { context.waiting.patienceMilliseconds = 0 }
            shard.web.routes.add(sender)
            shard.start()
            shards.append(shard)
        }
        sender.onAnswer = { [unowned self] in results[$0] = $1 }
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

    /// Posts a message to every shard.
    private func post(_ message: ShardMessage) {
        if fixture.fault == .endlessService, case .registry(.placed) = message, servedCount == 0 { return }
        if case .registry(.leave(_, let ticket)) = message {
            if [.hastyRelease, .lastingLinks].contains(fixture.fault) {
                for _ in shards { events.append(.left(ticket: ticket)) }
            }
            if fixture.fault == .lastingLinks { return }
        }
        if fixture.fault == .lostSubscriptions, case .registry(.placed) = message {
            for shard in shards { shard.devices.subscriptions.subscribers = Subscribers() }
        }
        for index in mail.indices { mail[index].append(message) }
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

    func hear(_ bytes: [UInt8], over link: Int) {
        do throws(CourierError) {
            try messages.receive(bytes.span, from: link)
        } catch {
            preconditionFailure("nodes keep to the protocol: \(error)")
        }
    }
}
