import PostriderCluster
import PostriderNotifications
import RelayFixtures
import Testing

@testable import PostriderRelay

@Suite("A push to a node of a cluster")
struct NodePushTests {
    private let fixture: ProviderFixture

    init() throws { fixture = try ProviderFixture() }

    private func place(_ place: PartitionPlaces.Place) {
        fixture.receive(.registry(.placed(PartitionPlaces(Array(repeating: place, count: Partition.count)))))
    }

    @Test("for a device of another node goes over the link to it, and its provider gets that node's answer")
    func forwarded() throws {
        place(.node(link: 3))
        let streams = try (0..<2).map { _ in try fixture.push() }
        try fixture.run()
        let messages = fixture.takeForNodes()
        #expect(messages.map(\.place.link) == [3, 3])
        #expect(streams.map { fixture.answers.status($0) } == [nil, nil])
        let results: [PushResult] = [.accepted, .rejected(.tooManyRequests)]
        for (message, result) in zip(messages, results) {
            guard case .push(.deliver(let notification, let address)) = message.message else {
                Issue.record("a push goes to the other node")
                return
            }
            #expect(notification.device == Samples.device)
            fixture.receive(.push(.answer(address, result)))
        }
        try fixture.run()
        #expect(streams.map { fixture.answers.status($0) } == [200, 429])
    }

    @Test("for a device that no node serves gets 503, and one for a device of this node is delivered here")
    func nowhere() throws {
        place(.nowhere)
        let lost = try fixture.push()
        try fixture.run()
        place(.here)
        let own = try fixture.push()
        try fixture.run()
        #expect(fixture.answers.status(lost) == 503 && fixture.answers.status(own) == 200)
        #expect(fixture.takeForNodes().isEmpty)
    }

    @Test("from another node is answered over its link: 503 if no node serves the device")
    func received() throws {
        let address = ReplyAddress(
            shard: Int32(ShardPlace(link: 6, shard: 2).number), stream: 1, connection: 9)
        var results: [PushResult] = []
        for served in [PartitionPlaces.Place.here, .nowhere] {
            place(served)
            fixture.receive(.push(.deliver(Samples.notification(1, expiration: .nowOrNever), address)))
            let messages = fixture.takeForNodes()
            #expect(messages.map(\.place.number) == [Int(address.shard)])
            if case .push(.answer(address, let result)) = messages.first?.message { results.append(result) }
        }
        #expect(
            results == [.accepted, .rejected(.serviceUnavailable)])
    }
}
