import PostriderChannels
import PostriderCluster
import PostriderNotifications
import RelayFixtures
import Testing

@testable import PostriderRelay

@Suite("A request whose partition moves between nodes")
struct WaitingRequestsTests {
    private static let owner = ChannelOwner(topic: Samples.topic, environment: .production)
    private let fixture: ProviderFixture

    init() throws { fixture = try ProviderFixture() }

    private func place(_ place: PartitionPlaces.Place) {
        fixture.receive(.registry(.placed(PartitionPlaces(Array(repeating: place, count: Partition.count)))))
    }

    private func push(_ count: Int = 1) throws -> [Int32] {
        let streams = try (0..<count).map { _ in try fixture.push() }
        try fixture.run()
        return streams
    }

    private func statuses(_ streams: [Int32]) throws -> [Int?] {
        try fixture.run()
        return streams.map { fixture.answers.status($0) }
    }

    /// The streams of pushes that are on their way to other nodes, by the link.
    private func streams(_ messages: [NodeMessage]) -> [(link: Int?, stream: Int32)] {
        messages.compactMap { message -> (link: Int?, stream: Int32)? in
            switch message.message {
            case .push(.deliver(_, let address)): return (message.place.link, address.stream)
            case .handover(.again(let request)): return (message.place.link, request.address.stream)
            default: return nil
            }
        }
    }

    /// The pushes that are on their way to another node.
    private func requests(_ messages: [NodeMessage]) -> [WaitingRequest] {
        messages.compactMap { message -> WaitingRequest? in
            switch message.message {
            case .push(.deliver(let notification, let address)):
                return WaitingRequest(.push(notification), address)
            case .handover(.again(let request)), .handover(.returned(let request)): return request
            default: return nil
            }
        }
    }

    /// The ticket of the recall that goes over a link.
    private func ticket(_ messages: [NodeMessage], over link: Int) -> UInt64? {
        for message in messages where message.place.link == link {
            if case .handover(.recall(_, place: 0, let ticket)) = message.message { return ticket }
        }
        return nil
    }

    /// The address of a push that another node has sent over a link.
    private func address(_ stream: Int32, over link: Int) -> ReplyAddress {
        ReplyAddress(
            shard: Int32(ShardPlace(link: link, shard: 2).number), stream: stream, connection: 9)
    }

    @Test("waits, and goes to the new home in its order")
    func waits() throws {
        place(.moving)
        let pushes = try push(3)
        #expect(try statuses(pushes) == [nil, nil, nil] && fixture.takeForNodes().isEmpty)
        fixture.advance(byMilliseconds: 1_000)
        place(.node(link: 3))
        let sent = fixture.takeForNodes()
        #expect(streams(sent).map(\.stream) == pushes && streams(sent).allSatisfy { $0.link == 3 })
        #expect(requests(sent).allSatisfy { $0.waited >= 1_000 })
        for request in requests(sent) { fixture.receive(.push(.answer(request.address, .accepted))) }
        #expect(try statuses(pushes) == [200, 200, 200])
    }

    @Test("is carried out here when this node is the new home")
    func served() throws {
        place(.moving)
        let pushes = try push(2)
        let order = try fixture.ask("GET", "/all-channels")
        #expect(try statuses(pushes + [order]) == [nil, nil, nil])
        place(.here)
        #expect(try statuses(pushes + [order]) == [200, 200, 200])
    }

    @Test("gets 503 when it has waited for too long, or when nobody expects a home any more")
    func tooLong() throws {
        place(.moving)
        let first = try push()
        fixture.advance(byMilliseconds: Limits.movingMilliseconds - 100)
        #expect(try statuses(first) == [nil])
        let second = try push()
        fixture.advance(byMilliseconds: 200)
        #expect(try statuses(first + second) == [503, nil])
        place(.nowhere)
        #expect(try statuses(second) == [503])
        #expect(try statuses(push()) == [503] && fixture.takeForNodes().isEmpty)
    }

    @Test("gets 503 at once if too many of its connection wait")
    func bounded() throws {
        place(.moving)
        let pushes = try push(Limits.movingRequestsOfConnection + 1)
        let answered = try statuses(pushes)
        #expect(answered.last == 503 && answered.dropLast().allSatisfy { $0 == nil })
        place(.here)
        #expect(try statuses(pushes.dropLast()).allSatisfy { $0 == 200 })
        #expect(try statuses(push()) == [200])
    }

    @Test("from another node waits for its home, and is answered over its link")
    func arrived() throws {
        for former in [PartitionPlaces.Place.moving, .node(link: 3)] {
            place(former)
            for stream in [1, 3] as [Int32] {
                let push = Samples.notification(UInt64(stream), expiration: .nowOrNever)
                fixture.receive(.push(.deliver(push, address(stream, over: 6))))
            }
            #expect(fixture.takeForNodes().isEmpty)
            place(.here)
            let answers = fixture.takeForNodes().compactMap { message -> Int32? in
                guard case .push(.answer(let address, .accepted)) = message.message else { return nil }
                return address.stream
            }
            #expect(answers == [1, 3])
        }
    }

    @Test("from another node is returned when that node asks for it, and not once its link has ended")
    func returned() throws {
        place(.moving)
        for (stream, link) in [(1, 6), (3, 7), (5, 6), (7, 8)] as [(Int32, Int)] {
            fixture.receive(
                .push(.deliver(Samples.notification(UInt64(stream)), address(stream, over: link))))
        }
        fixture.receive(.edge(.linkEnded(link: 8)))
        let asker = Int(address(1, over: 6).shard)
        let own = Partition(of: Samples.device)
        fixture.receive(.handover(.recall([own], place: asker, ticket: 4)))
        let messages = fixture.takeForNodes()
        #expect(requests(messages).map(\.address.stream) == [1, 5] && messages.count == 3)
        guard case .handover(.recalled(asker, ticket: 4, shards: 1)) = messages.last?.message else {
            Issue.record("the shard says that nothing is left")
            return
        }
        fixture.advance(byMilliseconds: Limits.movingMilliseconds)
        let late = fixture.takeForNodes()
        guard late.count == 1,
            case .push(.answer(let left, .rejected(.serviceUnavailable, _))) = late[0].message
        else {
            Issue.record("what nobody has asked for is answered")
            return
        }
        #expect(left.stream == 3)
    }

    @Test("goes to the new home after what the former home returns, and after nothing else is left there")
    func recalled() throws {
        place(.node(link: 3))
        let first = try push(2)
        let sent = requests(fixture.takeForNodes())
        place(.node(link: 4))
        let second = try push(1)
        let asked = fixture.takeForNodes()
        let recall = try #require(ticket(asked, over: 3))
        #expect(asked.count == 1 && sent.map(\.address.stream) == first)
        // The former home has two shards.
        for (number, request) in sent.enumerated() {
            fixture.receive(.handover(.returned(request)))
            #expect(fixture.takeForNodes().isEmpty)
            fixture.receive(.handover(.recalled(place: 0, ticket: recall, shards: 2)))
            if number == 0 { #expect(fixture.takeForNodes().isEmpty) }
        }
        let again = streams(fixture.takeForNodes())
        #expect(again.map(\.stream) == first + second && again.allSatisfy { $0.link == 4 })
    }

    @Test("waits for a former home no longer than for its link, and not for ever")
    func unanswered() throws {
        place(.node(link: 3))
        let first = try push()
        place(.node(link: 4))
        let second = try push()
        let request = try #require(requests(fixture.takeForNodes()).first)
        fixture.receive(.edge(.linkEnded(link: 3)))
        #expect(streams(fixture.takeForNodes()).map(\.stream) == second)
        place(.node(link: 5))
        fixture.advance(byMilliseconds: Limits.movingMilliseconds + 100)
        let third = try push()
        #expect(streams(fixture.takeForNodes()).map(\.stream) == third)
        // It could be carried out after later ones.
        fixture.receive(.handover(.returned(request)))
        #expect(try statuses(first) == [503])
    }

    @Test("about channels waits as pushes do, and is answered once")
    func orders() throws {
        place(.moving)
        let own = try fixture.ask("GET", "/all-channels")
        try fixture.run()
        fixture.receive(.channel(.order(.list, Self.owner, address(1, over: 6))))
        place(.node(link: 3))
        let messages = fixture.takeForNodes()
        guard messages.count == 1, case .handover(.again(let request)) = messages[0].message,
            case .order(.list, Self.owner) = request.content
        else {
            Issue.record("the order goes to the other node")
            return
        }
        fixture.receive(.channel(.answer(request.address, .list([]))))
        #expect(try statuses([own]) == [200])
        fixture.advance(byMilliseconds: Limits.movingMilliseconds)
        guard
            case .channel(.answer(_, .rejected(.serviceUnavailable)))? = fixture.takeForNodes().first?.message
        else {
            Issue.record("the order that has come is answered in the end")
            return
        }
    }
}
