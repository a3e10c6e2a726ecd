import PostriderCluster
import PostriderCrypto
import Testing

@testable import PostriderNodes
@testable import PostriderTransport

@Suite("Links between nodes")
struct NodeLinksTests {
    private let fixture: NodeFixture

    init() throws { fixture = try NodeFixture() }

    @Test("are opened by each node to each other one, and carry messages both ways in order")
    func messages() throws {
        let nodes = try ["a", "b", "c"].map { try fixture.start($0) }
        try fixture.join(nodes[0], nodes[1], nodes[2])
        fixture.turn { nodes.allSatisfy { $0.outgoing.count == 2 && $0.incoming.count == 2 } }
        let (a, b) = (nodes[0], nodes[1])
        b.answer = { [unowned b] text, number in b.links?.send(Array("re: \(text)".utf8), over: number) }
        let link = try #require(a.outgoing["b"])
        for number in 0..<1000 { a.links?.send(Array("\(number)".utf8), over: link) }
        fixture.turn { a.messages.count == 1000 }
        #expect(b.messages == (0..<1000).map { "\($0)" })
        #expect(a.messages == (0..<1000).map { "re: \($0)" })
        #expect(nodes[2].messages.isEmpty)
    }

    @Test(
        "are not there with a node whose certificate has another issuer, another name or another use"
    )
    func certificates() throws {
        let stranger = try Certificates.makeAuthority(commonName: "Stranger", validDays: 2)
        let bad = [
            try fixture.start("b", contexts: fixture.certificates.contexts(of: "b", by: stranger)),
            try fixture.start("c", contexts: fixture.certificates.contexts(of: "x")),
            try fixture.start("d", contexts: fixture.certificates.contexts(of: "d", usage: .server)),
        ]
        let good = try fixture.start("a")
        // Of the last one, the side that it has opened is refused.
        try fixture.join(good, bad[0], bad[1], bad[2])
        fixture.turn {
            bad.allSatisfy { node in node.events.contains { $0.hasPrefix("no a: The node that") } }
        }
        for node in bad {
            #expect(
                node.events.contains(
                    "no a: The node that calls itself \(node.name) has no valid certificate for that name "
                        + "from the cluster's authority: issue one with 'postrider certificates make --node "
                        + "\(node.name)'"))
        }
        fixture.turn {
            ["no b: ", "no c: "].allSatisfy { text in good.events.contains { $0.hasPrefix(text) } }
        }
        #expect(good.outgoing.keys.sorted() == ["d"] && good.incoming.isEmpty)
    }

    @Test("are refused between two clusters and between two nodes of one name, and both sides know why")
    func refusals() throws {
        let (a, b) = (try fixture.start("a"), try fixture.start("b", cluster: "c2"))
        try fixture.join(a, b)
        let sentence = "Node b uses the database of another cluster than a: give both the same store"
        fixture.turn {
            a.events.contains("no ?: \(sentence)") && b.events.contains("no a: \(sentence)")
        }
        let twin = try fixture.start("a")
        let target = try #require(NodeName("a"))
        twin.links?.connect(to: [target: .address(try #require(a.address))])
        let names = "Two nodes are called a: give each a node-name, and a certificate, of its own"
        fixture.turn {
            twin.events.contains("no a: \(names)") && a.events.contains("no ?: \(names)")
        }
        #expect(a.outgoing.isEmpty && a.incoming.isEmpty)
    }

    @Test("of a node that is frozen end, and are opened again when it goes on")
    func frozen() throws {
        let other = try NodeFixture(sharing: fixture)
        let (a, b) = (try fixture.start("a"), try other.start("b"))
        try fixture.join(a, b)
        fixture.turn(with: other) { a.outgoing.count == 1 && a.incoming.count == 1 && b.outgoing.count == 1 }
        fixture.turn { a.outgoing.isEmpty && a.incoming.isEmpty }
        let silent = "the node has not answered for 1500 milliseconds"
        #expect(a.events.contains("end to b: \(silent)"))
        #expect(a.events.contains("end from b: \(silent)"))
        fixture.turn(with: other) { a.outgoing.count == 1 && a.incoming.count == 1 && b.outgoing.count == 1 }
    }

    @Test(
        "take no more requests for a node that does not read what waits for it, and are cut if that goes on")
    func congestion() throws {
        let other = try NodeFixture(sharing: fixture)
        let (a, b) = (try fixture.start("a"), try other.start("b"))
        try fixture.join(a, b)
        fixture.turn(with: other) { a.outgoing.count == 1 }
        let link = try #require(a.outgoing["b"])
        let links = try #require(a.links)
        let message = [UInt8](repeating: 65, count: 100_000)
        var sent = 0
        while links.takesRequest(link), sent < 1000 {
            links.send(message, over: link)
            sent += 1
        }
        #expect((80...100).contains(sent))
        fixture.turn(with: other) { b.messages.count == sent && links.takesRequest(link) }
        for _ in 0..<400 { links.send(message, over: link) }
        fixture.turn { a.outgoing.isEmpty }
        #expect(a.events.contains { $0.hasPrefix("end to b: ") })
    }

    @Test("end with what is not the protocol, and the node goes on")
    func nonsense() throws {
        let (a, b) = (try fixture.start("a"), try fixture.start("b"))
        b.refusesMessages = true
        try fixture.join(a, b)
        fixture.turn { a.outgoing.count == 1 && b.outgoing.count == 1 }
        let link = try #require(a.outgoing["b"])
        a.links?.send([1, 2, 3], over: link)
        fixture.turn {
            b.events.contains { $0.hasPrefix("end from a: the node does not keep to the protocol") }
        }
        fixture.turn { a.outgoing["b"].map { $0 != link } ?? false }
        #expect(
            a.events.contains {
                $0.hasPrefix("end to b: the node does not keep to the protocol between nodes")
            })
        // An older link from the same node is replaced by the newest.
        #expect(b.incoming.count == 1)
    }

    @Test("are closed in order, and then nothing is opened or accepted any more")
    func closing() throws {
        let (a, b) = (try fixture.start("a"), try fixture.start("b"))
        try fixture.join(a, b)
        fixture.turn { [a, b].allSatisfy { $0.outgoing.count == 1 && $0.incoming.count == 1 } }
        a.links?.close()
        fixture.turn { a.outgoing.isEmpty && a.incoming.isEmpty && b.outgoing.isEmpty && b.incoming.isEmpty }
        #expect(a.links?.accept() == nil)
        fixture.turn { b.events.contains { $0.hasPrefix("no a: ") } }
        #expect(a.outgoing.isEmpty && a.incoming.isEmpty)
    }
}
