import PostriderChannels
import PostriderCluster
import PostriderCourier
import PostriderNotifications
import RelayFixtures
import Testing

@testable import PostriderRelay

@Suite("The switch between nodes")
final class NodeSwitchTests {
    private var posted: [(message: ShardMessage, shard: Int)] = []
    private var sent: [(bytes: [UInt8], link: Int)] = []
    private var hasRoom = true
    private var isCongested = false
    private lazy var nodes = NodeSwitch(
        NodeSwitch.Surroundings(
            shardCount: 3,
            post: { [unowned self] message, shard in
                if hasRoom { posted.append((message, shard)) }
                return hasRoom
            },
            postAnswer: { [unowned self] in posted.append(($0, $1)) },
            takesRequest: { [unowned self] _ in !isCongested },
            send: { [unowned self] in sent.append(($0, $1)) }))

    private static func address(_ stream: Int32, shard: Int32 = 1) -> ReplyAddress {
        ReplyAddress(shard: shard, stream: stream, connection: 9)
    }

    private static let request = SubscriptionRequest(
        channel: DeviceFixture.channel,
        owner: ChannelOwner(topic: Samples.topic, environment: .production),
        wish: Subscribe(topic: Samples.topic.text, channel: DeviceFixture.channel), shard: 1, connection: 2,
        ticket: 3)

    /// The messages about channels that shards of this node have got.
    private var channels: [(message: ChannelMessage, shard: Int)] {
        posted.compactMap {
            if case .channel(let message) = $0.message { (message, $0.shard) } else { nil }
        }
    }

    private func push(_ stream: Int32, over link: Int) {
        let message = ShardMessage.push(.deliver(Samples.notification(1), Self.address(stream)))
        nodes.pass(NodeMessage(message: message, place: ShardPlace(link: link)))
    }

    /// The answers that shards of this node have got: streams and results.
    private var answers: [(stream: Int32, shard: Int, result: PushResult)] {
        posted.compactMap { posted in
            guard case .push(.answer(let address, let result)) = posted.message else { return nil }
            return (address.stream, posted.shard, result)
        }
    }

    private func receive(_ message: ShardMessage, from link: Int) throws {
        let bytes = try #require(try message.encoded())
        try nodes.receive(bytes.span, from: link)
    }

    @Test("sends a push over the link to its node, and gives the answer to the shard that asked")
    func answered() throws {
        nodes.opened(5)
        push(1, over: 5)
        push(3, over: 5)
        #expect(sent.map(\.link) == [5, 5])
        try receive(.push(.answer(Self.address(3), .rejected(.unregistered, since: Samples.now))), from: 5)
        try receive(.push(.answer(Self.address(1), .accepted)), from: 5)
        #expect(answers.map(\.stream) == [3, 1] && answers.map(\.shard) == [1, 1])
        #expect(answers.map(\.result) == [.rejected(.unregistered, since: Samples.now), .accepted])
        nodes.ended(5)
        #expect(answers.count == 2)
        #expect(nodes.counters == NodeTraffic(sent: 2))
    }

    @Test("answers 503 for what is under way when a link ends, and gives back what comes after that")
    func lost() {
        nodes.opened(5)
        nodes.opened(6)
        for stream in [5, 1, 3] as [Int32] { push(stream, over: 5) }
        push(7, over: 6)
        nodes.ended(5)
        #expect(answers.map(\.stream) == [1, 3, 5])
        #expect(answers.allSatisfy { $0.result == .rejected(.serviceUnavailable) })
        push(9, over: 5)
        #expect(answers.count == 3)
        guard case .handover(.returned(let request))? = posted.last?.message else {
            Issue.record("the shard gets the push back")
            return
        }
        #expect(request.address == Self.address(9) && posted.last?.shard == 1)
        #expect(nodes.counters == NodeTraffic(sent: 4, lost: 3))
    }

    @Test("answers 429 while too much waits for a node")
    func congested() {
        nodes.opened(5)
        isCongested = true
        push(1, over: 5)
        isCongested = false
        for stream in 0..<Limits.nodeRequests { push(Int32(2 * stream + 3), over: 5) }
        push(1_000_001, over: 5)
        #expect(answers.map(\.stream) == [1, 1_000_001])
        #expect(answers.allSatisfy { $0.result == .rejected(.tooManyRequests) })
        #expect(nodes.counters.refused == 2)
    }

    @Test("gives a push of another node to its home here, whose answer goes back over the same link")
    func received() throws {
        let notification = Samples.notification(1)
        try receive(.push(.deliver(notification, Self.address(1, shard: 7))), from: 4)
        let delivered = try #require(posted.first)
        #expect(delivered.shard == notification.device.home(among: 3))
        guard case .push(.deliver(let arrived, let address)) = delivered.message else {
            Issue.record("the home gets a push")
            return
        }
        #expect(arrived.identity == notification.identity)
        #expect(ShardPlace(Int(address.shard)).link == 4)
        nodes.pass(
            NodeMessage(
                message: .push(.answer(address, .accepted)), place: ShardPlace(Int(address.shard))))
        let reply = try #require(sent.first)
        #expect(reply.link == 4)
        guard
            case .push(.answer(Self.address(1, shard: 7), .accepted)) = try ShardMessage(
                decoding: reply.bytes.span)
        else {
            Issue.record("the answer has the address that the other node knows")
            return
        }
        hasRoom = false
        try receive(.push(.deliver(notification, Self.address(3))), from: 4)
        let refusal = try #require(sent.last)
        guard
            case .push(.answer(_, .rejected(.tooManyRequests, since: nil))) = try ShardMessage(
                decoding: refusal.bytes.span)
        else {
            Issue.record("a home without room refuses")
            return
        }
    }

    /// The messages about devices at an edge that shards of this node have got.
    private var edges: [(message: EdgeMessage, shard: Int)] {
        posted.compactMap { if case .edge(let message) = $0.message { (message, $0.shard) } else { nil } }
    }

    private func sentEdges() throws -> [EdgeMessage] {
        try sent.compactMap {
            if case .edge(let message) = try ShardMessage(decoding: $0.bytes.span) { message } else { nil }
        }
    }

    @Test("sends orders about channels to the apps' home, and each gets one answer")
    func orders() throws {
        nodes.opened(5)
        for stream in [1, 3] as [Int32] {
            let order = ChannelMessage.order(.list, Self.request.owner, Self.address(stream))
            nodes.pass(NodeMessage(message: .channel(order), place: ShardPlace(link: 5)))
        }
        try receive(.channel(.answer(Self.address(3), .removed)), from: 5)
        #expect(throws: CourierError.self) {
            try receive(.channel(.answer(Self.address(3), .removed)), from: 5)
        }
        nodes.ended(5)
        #expect(sent.count == 2)
        let answers: [ChannelMessage] = [
            .answer(Self.address(3), .removed),
            .answer(Self.address(1), .rejected(.serviceUnavailable)),
        ]
        #expect(channels.map(\.message.described) == answers.map(\.described))
    }

    @Test("gives questions, orders and broadcasts of other nodes to the shards that they are for")
    func channelsHere() throws {
        let home = Self.request.owner.home(among: 3)
        try receive(.channel(.subscribe(Self.request)), from: 4)
        try receive(.channel(.order(.list, Self.request.owner, Self.address(1))), from: 4)
        try receive(.channel(.removed(Self.request.channel)), from: 4)
        #expect(channels.map(\.shard) == [home, home, 0, 1, 2])
        guard case .subscribe(let here) = channels.first?.message else {
            Issue.record("the home gets the question")
            return
        }
        let answer = ChannelMessage.subscribed(here, isKnown: true, nil, QueueRow(7))
        nodes.pass(NodeMessage(message: .channel(answer), place: ShardPlace(here.shard)))
        let bytes = try #require(sent.first).bytes
        let reply = try ShardMessage(decoding: bytes.span)
        guard case .channel(.subscribed(let request, true, nil, QueueRow(7))) = reply else {
            Issue.record("the answer goes back")
            return
        }
        #expect(request.shard == Self.request.shard && sent.first?.link == 4)
        nodes.opened(5)
        try receive(.channel(.subscribed(request, isKnown: true, nil, QueueRow(7))), from: 5)
        #expect(channels.last?.shard == request.shard)
        hasRoom = false
        try receive(.channel(.order(.list, Self.request.owner, Self.address(1))), from: 4)
        #expect(sent.count == 2)
        for message in [ChannelMessage.subscribe(Self.request), .removed(Self.request.channel)] {
            #expect(throws: CourierError.self) { try receive(.channel(message), from: 5) }
        }
        let far = ChannelMessage.subscribed(Self.request.through(1), isKnown: true, nil, QueueRow(7))
        #expect(throws: CourierError.self) { try receive(.channel(far), from: 5) }
    }

    @Test("passes what devices at this edge say, and what their home answers")
    func edge() throws {
        nodes.opened(5)
        let requests = EdgeSamples.requests.map {
            NodeMessage(message: .edge($0), place: ShardPlace(link: 5))
        }
        for request in requests { nodes.pass(request) }
        #expect(try sentEdges().map(\.described) == EdgeSamples.requests.map(\.described))
        for answer in EdgeSamples.answers { try receive(.edge(answer), from: 5) }
        #expect(edges.map(\.shard) == EdgeSamples.answers.map { _ in 2 })
        #expect(edges.map(\.message.described) == EdgeSamples.answers.map { $0.through(5).described })
    }

    @Test(
        "gives what devices at another edge say to their home, and sends its answers back"
    )
    func homeOfEdge() throws {
        for request in EdgeSamples.requests { try receive(.edge(request), from: 4) }
        #expect(edges.map(\.shard) == EdgeSamples.requests.map { _ in Samples.device.home(among: 3) })
        #expect(edges.map(\.message.described) == EdgeSamples.requests.map { $0.through(4).described })
        let place = ShardPlace(Int(EdgeSamples.address.through(4).shard))
        let answers = EdgeSamples.answers.filter { if case .refuse = $0 { false } else { true } }
        for answer in answers { nodes.pass(NodeMessage(message: .edge(answer.through(4)), place: place)) }
        #expect(try sentEdges().map(\.described) == answers.map(\.described))
        posted = []
        hasRoom = false
        for request in EdgeSamples.requests { try receive(.edge(request), from: 4) }
        let ends = edges.map(\.message).ends
        // Each message without room ends its session here, and then come the ends that the edge has sent.
        #expect(ends == [.overloaded, .overloaded, nil, .cut])
        #expect(
            try sentEdges().count { if case .refuse(EdgeSamples.address, _) = $0 { true } else { false } }
                == 4)
    }

    @Test("refuses devices at this edge without a link, or while too much waits for their home")
    func refusedEdges() throws {
        for request in EdgeSamples.requests {
            nodes.pass(NodeMessage(message: .edge(request), place: ShardPlace(link: 5)))
        }
        #expect(sent.isEmpty)
        let refused = { self.edges.count { if case .refuse = $0.message { true } else { false } } }
        #expect(refused() == 4 && edges.count == 4)
        nodes.opened(5)
        isCongested = true
        for request in EdgeSamples.requests {
            nodes.pass(NodeMessage(message: .edge(request), place: ShardPlace(link: 5)))
        }
        #expect(refused() == 8)
        #expect(try sentEdges().ends == [.overloaded, .overloaded, nil, .cut])
    }

    @Test("refuses messages about devices that come over the wrong link, or for shards that are not there")
    func wrongEdges() throws {
        nodes.opened(5)
        let wide = ReplyAddress(shard: 1024, stream: 0, connection: 1)
        let far = ReplyAddress(shard: 3, stream: 0, connection: 1)
        for request in EdgeSamples.requests {
            #expect(throws: CourierError.self) { try receive(.edge(request), from: 5) }
            #expect(throws: CourierError.self) { try receive(.edge(request.at(wide)), from: 4) }
        }
        for answer in EdgeSamples.answers {
            #expect(throws: CourierError.self) { try receive(.edge(answer), from: 4) }
            #expect(throws: CourierError.self) { try receive(.edge(answer.at(far)), from: 5) }
        }
        #expect(posted.isEmpty && sent.isEmpty)
    }

    @Test("refuses what a node may not send")
    func protocolErrors() throws {
        nodes.opened(5)
        let push = ShardMessage.push(.deliver(Samples.notification(1), Self.address(1)))
        #expect(throws: CourierError.self) { try receive(push, from: 5) }
        #expect(throws: CourierError.self) {
            try receive(.push(.answer(Self.address(1), .accepted)), from: 5)
        }
        let wide = ShardMessage.push(.deliver(Samples.notification(1), Self.address(1, shard: 1024)))
        #expect(throws: CourierError.self) { try receive(wide, from: 4) }
        #expect(throws: CourierError.self) { try nodes.receive([1, 2, 3].span, from: 4) }
        #expect(posted.isEmpty && sent.isEmpty)
    }
}
