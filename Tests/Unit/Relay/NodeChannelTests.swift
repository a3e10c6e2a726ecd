import PostriderChannels
import PostriderCluster
import PostriderCourier
import PostriderNotifications
import RelayFixtures
import Testing

@testable import PostriderRelay

@Suite("A channel in a cluster")
struct NodeChannelTests {
    private static let owner = ChannelOwner(topic: Samples.topic, environment: .production)

    /// Devices are here, and the channels of the first app are at this place.
    private func places(
        _ place: PartitionPlaces.Place, others: [Int: PartitionPlaces.Place] = [:], links: [Int] = []
    ) -> ShardMessage {
        var places = Array(repeating: PartitionPlaces.Place.here, count: Partition.count)
        places[Partition(of: Self.owner).number] = place
        for (number, place) in others {
            places[(Partition(of: Self.owner).number + number) % Partition.count] = place
        }
        return .registry(.placed(PartitionPlaces(places, links: links)))
    }

    private func channelMessages(_ messages: [NodeMessage]) -> [(link: Int?, message: ChannelMessage)] {
        messages.compactMap {
            if case .channel(let message) = $0.message { ($0.place.link, message) } else { nil }
        }
    }

    /// The shard looks for questions without an answer, as it does from time to time.
    private func look(_ fixture: DeviceFixture) throws {
        fixture.shard.devices.subscriptions.askAgain()
        try fixture.run()
    }

    private func subscribe(_ fixture: DeviceFixture) throws -> DeviceClientConnection {
        let line = try fixture.connect()
        line.say(.subscribe(Subscribe(topic: Samples.topic.text, channel: DeviceFixture.channel)))
        try fixture.run()
        return line
    }

    @Test(
        "of another node: its home is asked about a subscription, and again if it does not answer"
    )
    func subscription() throws {
        let fixture = try DeviceFixture()
        try fixture.receive(places(.node(link: 3)))
        let line = try subscribe(fixture)
        var asked = channelMessages(fixture.nodes.takeAll())
        #expect(asked.map(\.link) == [3])
        try look(fixture)
        #expect(fixture.nodes.takeAll().isEmpty)
        try fixture.receive(places(.node(link: 4)))
        try look(fixture)
        asked = channelMessages(fixture.nodes.takeAll())
        #expect(asked.map(\.link) == [4])
        guard case .subscribe(let request) = asked.first?.message else {
            Issue.record("the question is asked again")
            return
        }
        for _ in 1...2 {
            try fixture.receive(.channel(.subscribed(request, isKnown: true, nil, QueueRow(7))))
        }
        #expect(line.news == [.subscribed(DeviceFixture.channel)])
        for _ in 1...3 { try look(fixture) }
        #expect(fixture.nodes.takeAll().isEmpty)
        try fixture.broadcast(8)
        #expect(fixture.shard.devices.subscriptions.tally.sent == 1)
    }

    @Test("of another node: what overtakes the answer is not missed, and nothing old follows something new")
    func overtaken() throws {
        let fixture = try DeviceFixture()
        try fixture.receive(places(.node(link: 3)))
        let line = try subscribe(fixture)
        guard case .subscribe(let request)? = channelMessages(fixture.nodes.takeAll()).first?.message else {
            Issue.record("the home is asked")
            return
        }
        try fixture.broadcast(9)
        let stored = Self.broadcast(5)
        try fixture.receive(.channel(.subscribed(request, isKnown: true, stored, QueueRow(7))))
        try fixture.broadcast(8)
        try fixture.broadcast(10)
        let numbers = line.news.compactMap { message -> UInt64? in
            if case .broadcast(let broadcast) = message { broadcast.identity.low } else { nil }
        }
        #expect(numbers == [9, 10])
    }

    private static func broadcast(_ number: UInt64) -> Broadcast {
        Broadcast(
            identity: NotificationIdentity(high: 8, low: number), channel: DeviceFixture.channel,
            topic: Samples.topic, payload: Array("{}".utf8), priority: .immediate, expiration: .nowOrNever,
            pushType: .liveactivity, acceptedAt: Samples.now)
    }

    @Test("that no node decides about is asked for as soon as one does")
    func nowhere() throws {
        let fixture = try DeviceFixture()
        fixture.makeChannel()
        try fixture.receive(places(.nowhere))
        let line = try subscribe(fixture)
        for _ in 1...3 { try look(fixture) }
        #expect(line.news.isEmpty && fixture.nodes.takeAll().isEmpty)
        try fixture.receive(places(.here))
        try look(fixture)
        #expect(line.news == [.subscribed(DeviceFixture.channel)])
    }

    @Test("that no node has answers no question, and refuses orders with 503")
    func moved() throws {
        let fixture = try ProviderFixture()
        fixture.makeChannels(1)
        fixture.receive(places(.nowhere))
        let address = ReplyAddress(shard: 0, stream: 1, connection: 9).through(6)
        fixture.receive(.channel(.order(.list, Self.owner, address)))
        let answers = channelMessages(fixture.takeForNodes())
        #expect(answers.map(\.link) == [6])
        guard case .answer(address, .rejected(.serviceUnavailable)) = answers.first?.message else {
            Issue.record("an order that comes too late is refused")
            return
        }
        let wish = Subscribe(topic: Samples.topic.text, channel: DeviceFixture.channel)
        fixture.receive(
            .channel(
                .subscribe(
                    SubscriptionRequest(
                        channel: DeviceFixture.channel, owner: Self.owner, wish: wish,
                        shard: Int(address.shard), connection: 1, ticket: 1))))
        #expect(fixture.takeForNodes().isEmpty)
    }

    @Test("of another node: providers get that node's answers, and 503 while no node decides")
    func orders() throws {
        let fixture = try ProviderFixture()
        fixture.receive(places(.node(link: 3)))
        let stream = try fixture.ask("GET", "/all-channels")
        try fixture.run()
        let orders = channelMessages(fixture.takeForNodes())
        guard case .order(.list, Self.owner, let address) = orders.first?.message, orders.count == 1 else {
            Issue.record("the order goes to the other node")
            return
        }
        fixture.receive(.channel(.answer(address, .list([]))))
        fixture.receive(places(.nowhere))
        guard case .handover(.recall(_, _, let ticket))? = fixture.takeForNodes().first?.message else {
            Issue.record("the former home is asked what is left")
            return
        }
        fixture.receive(.handover(.recalled(place: 0, ticket: ticket, shards: 1)))
        let late = try fixture.ask("GET", "/all-channels")
        try fixture.run()
        #expect(fixture.answers.status(stream) == 200 && fixture.answers.status(late) == 503)
    }

    @Test("of this node: each node with a link gets a broadcast, and the end, once")
    func broadcast() throws {
        let fixture = try DeviceFixture()
        fixture.makeChannel()
        try fixture.receive(
            places(.here, others: [1: .node(link: 4), 3: .node(link: 4)], links: [4, 3]))
        let address = Samples.replyAddress(1)
        let broadcast = Self.broadcast(1)
        try fixture.receive(
            .channel(
                .order(.broadcast(broadcast, isNowOrNever: true, by: .certificate), Self.owner, address)))
        try fixture.receive(.channel(.order(.remove(DeviceFixture.channel), Self.owner, address)))
        try fixture.commit()
        let messages = channelMessages(fixture.nodes.takeAll())
        #expect(messages.map(\.link) == [3, 4, 3, 4])
        for (message, isEnd) in zip(messages.map(\.message), [false, false, true, true]) {
            switch message {
            case .broadcast(let sent, _): #expect(sent === broadcast && !isEnd)
            case .removed(DeviceFixture.channel): #expect(isEnd)
            default: Issue.record("another message")
            }
        }
    }
}
