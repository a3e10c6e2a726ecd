import PostriderCluster
import PostriderCourier
import PostriderNotifications
import RelayFixtures
import Testing

@testable import PostriderRelay

@Suite("The switch between nodes, for requests whose partition moves")
final class NodeHandoverTests {
    private var posted: [(message: ShardMessage, shard: Int)] = []
    private var sent: [ShardMessage] = []
    private lazy var nodes = NodeSwitch(
        NodeSwitch.Surroundings(
            shardCount: 3,
            post: { [unowned self] message, shard in
                posted.append((message, shard))
                return true
            },
            postAnswer: { [unowned self] in posted.append(($0, $1)) }, takesRequest: { _ in true },
            send: { [unowned self] bytes, _ in
                if let message = try? ShardMessage(decoding: bytes.span) { sent.append(message) }
            }))

    private func pass(_ message: HandoverMessage, over link: Int) {
        nodes.pass(NodeMessage(message: .handover(message), place: ShardPlace(link: link)))
    }

    private func receive(_ message: HandoverMessage, from link: Int) throws {
        let bytes = try #require(try ShardMessage.handover(message).encoded())
        try nodes.receive(bytes.span, from: link)
    }

    private var handovers: [HandoverMessage] {
        posted.compactMap { if case .handover(let message) = $0.message { message } else { nil } }
    }

    @Test("sends each again, whose answer counts once or which comes back once", arguments: [0, 2])
    func returned(_ index: Int) throws {
        guard case .again(let request) = HandoverSamples.messages[index / 2] else { return }
        nodes.opened(5)
        for _ in 1...2 {
            pass(.again(request), over: 5)
            try receive(.returned(request), from: 5)
            #expect(throws: CourierError.self) { try receive(.returned(request), from: 5) }
        }
        #expect(sent.count == 2 && handovers.count == 2)
        nodes.ended(5)
        #expect(posted.count == 2)
        pass(.again(request), over: 5)
        #expect(sent.count == 2 && handovers.count == 3)
    }

    @Test("gives those of other nodes to their home, and names them to their node as it does")
    func received() throws {
        guard case .again(let request) = HandoverSamples.messages[0] else { return }
        try receive(.again(request), from: 4)
        guard case .again(let here)? = handovers.first else {
            Issue.record("the home gets the request")
            return
        }
        #expect(posted[0].shard == request.home(among: 3))
        #expect(ShardPlace(Int(here.address.shard)).link == 4)
        pass(.returned(here), over: 4)
        guard case .handover(.returned(let back)) = sent.first else {
            Issue.record("the request goes back")
            return
        }
        #expect(back.address == request.address && back.waited == request.waited)
    }

    @Test("asks every shard of a former home, and answers by itself for one whose link has ended")
    func recalled() throws {
        let recall = HandoverMessage.recall([Partition(7)], place: 2, ticket: 8)
        try receive(recall, from: 4)
        #expect(posted.map(\.shard) == [0, 1, 2])
        guard case .recall([Partition(7)], let place, ticket: 8)? = handovers.first else {
            Issue.record("a shard is asked")
            return
        }
        #expect(ShardPlace(place).link == 4 && ShardPlace(place).shard == 2)
        pass(.recalled(place: place, ticket: 8, shards: 3), over: 4)
        guard case .handover(.recalled(place: 2, ticket: 8, shards: 3)) = sent.first else {
            Issue.record("the shard that has asked gets the answer")
            return
        }
        pass(recall, over: 5)
        guard case .recalled(place: 2, ticket: 8, shards: 1)? = handovers.last, posted.last?.shard == 2 else {
            Issue.record("nobody else can answer")
            return
        }
        nodes.opened(6)
        pass(recall, over: 6)
        #expect(sent.count == 2)
        #expect(throws: CourierError.self) {
            try receive(.recalled(place: 3, ticket: 8, shards: 1), from: 6)
        }
        #expect(throws: CourierError.self) { try receive(recall, from: 6) }
    }
}
