import PostriderCourier
import PostriderNotifications
import RelayFixtures
import Testing

@testable import PostriderRelay

@Suite("A question to another node")
final class NodeQueryTests {
    private var posted: [(message: NodeQuery, shard: Int)] = []
    private var sent: [NodeQuery] = []
    private var hasRoom = true
    private lazy var nodes = NodeSwitch(
        NodeSwitch.Surroundings(
            shardCount: 2,
            post: { [unowned self] in
                guard hasRoom else { return false }
                note($0, $1)
                return true
            },
            postAnswer: { [unowned self] in note($0, $1) },
            takesRequest: { [unowned self] _ in hasRoom },
            send: { [unowned self] bytes, _ in
                if case .nodeQuery(let message)? = try? ShardMessage(decoding: bytes.span) {
                    sent.append(message)
                }
            }))

    private func note(_ message: ShardMessage, _ shard: Int) {
        if case .nodeQuery(let message) = message { posted.append((message, shard)) }
    }

    private func receive(_ message: NodeQuery, from link: Int) throws {
        let bytes = try #require(try ShardMessage.nodeQuery(message).encoded())
        try nodes.receive(bytes.span, from: link)
    }

    private func pass(_ message: NodeQuery, over link: Int) {
        nodes.pass(NodeMessage(message: .nodeQuery(message), place: ShardPlace(link: link)))
    }

    private static func described(_ messages: [NodeQuery]) -> [String] { messages.map { "\($0)" } }

    @Test("goes over the link to it, and the pieces of its answer to the shard that has asked")
    func asked() throws {
        nodes.opened(5)
        for request in NodeQuerySamples.requests { pass(request, over: 5) }
        #expect(Self.described(sent) == Self.described(NodeQuerySamples.requests))
        for answer in NodeQuerySamples.answers { try receive(answer, from: 5) }
        #expect(posted.map(\.shard) == [1, 1, 1])
        guard case .answer(let piece, let address)? = posted.first?.message else {
            Issue.record("the shard gets the piece")
            return
        }
        #expect(address == NodeQuerySamples.address.through(5))
        #expect(piece == NodeAnswerPiece(status: 200, bytes: [1, 2], isLast: false))
    }

    @Test("is given back without a link, or while too much waits for its node")
    func unsent() {
        for isLinked in [false, true] {
            if isLinked { nodes.opened(5) }
            hasRoom = false
            pass(.ask(.status, NodeQuerySamples.address), over: 5)
        }
        let lost = NodeQuery.unsent(NodeQuerySamples.address.through(5))
        #expect(Self.described(posted.map(\.message)) == Self.described([lost, lost]) && sent.isEmpty)
    }

    @Test("is for shard 0 of this node if another one asks, and gets no answer while it is overloaded")
    func received() throws {
        for request in NodeQuerySamples.requests { try receive(request, from: 4) }
        #expect(posted.map(\.shard) == NodeQuerySamples.requests.map { _ in 0 })
        let here = NodeQuerySamples.address.through(4)
        pass(.answer(.none, here), over: 4)
        hasRoom = false
        try receive(.ask(.status, NodeQuerySamples.address), from: 4)
        let none = NodeQuery.answer(.none, NodeQuerySamples.address)
        #expect(Self.described(sent) == Self.described([none, none]))
    }

    @Test("ends the link if it comes over the wrong one, or for a shard that is not there")
    func wrong() throws {
        nodes.opened(5)
        let wide = ReplyAddress(shard: 1024, stream: 0, connection: 1)
        for message in [NodeQuery.ask(.status, NodeQuerySamples.address), .goOn(NodeQuerySamples.address)] {
            #expect(throws: CourierError.self) { try receive(message, from: 5) }
        }
        #expect(throws: CourierError.self) { try receive(.goOn(wide), from: 4) }
        #expect(throws: CourierError.self) { try receive(.answer(.none, NodeQuerySamples.address), from: 4) }
        let far = ReplyAddress(shard: 2, stream: 0, connection: 1)
        #expect(throws: CourierError.self) { try receive(.answer(.none, far), from: 5) }
        #expect(posted.isEmpty && sent.isEmpty)
    }
}
