import PostriderCluster
import PostriderCourier
import Testing

@testable import PostriderNodes

@Suite("The greeting of a node")
struct NodeGreetingTests {
    private static func name(_ text: String) throws -> NodeName { try #require(NodeName(text)) }

    private static func greeting(
        version: UInt32 = NodeGreeting.currentVersion, cluster: String = "c1", _ name: String = "b",
        partitions: UInt32 = 1024
    ) throws -> NodeGreeting {
        NodeGreeting(
            version: version, cluster: cluster, name: try self.name(name), generation: 7,
            partitions: partitions)
    }

    private func refusal(
        of greeting: NodeGreeting, expected: String? = nil, isCertified: Bool = true
    ) throws -> String? {
        let own = NodeGreeting(cluster: "c1", name: try Self.name("a"), generation: 1)
        let expected = expected.flatMap { NodeName($0) }
        do throws(NodeRefusal) {
            _ = try greeting.check(against: own, expected: expected) { _ in isCertified }
            return nil
        } catch {
            return error.description
        }
    }

    @Test("is the same after it was encoded and decoded, and may have fields of a newer version")
    func coding() throws {
        let greeting = try Self.greeting()
        var bytes: [UInt8] = []
        greeting.encode(into: &bytes)
        #expect(try NodeGreeting(decoding: bytes.span) == greeting)
        bytes += [15 << 3, 1]
        #expect(try NodeGreeting(decoding: bytes.span) == greeting)
    }

    @Test("gives the name of a node of this cluster, also of the version before and the next one")
    func accepted() throws {
        let own = try NodeGreeting(version: 5, cluster: "c1", name: Self.name("a"), generation: 1)
        for version in 4...6 as ClosedRange<UInt32> {
            let other = try Self.greeting(version: version)
            let name = try other.check(against: own, expected: try Self.name("b")) { $0 == "b" }
            #expect(name.text == "b")
        }
    }

    @Test("is refused with one sentence that says what to do")
    func refusals() throws {
        #expect(
            try refusal(of: Self.greeting(), isCertified: false)
                == "The node that calls itself b has no valid certificate for that name from the cluster's "
                + "authority: issue one with 'postrider certificates make --node b'.")
        #expect(
            try refusal(of: Self.greeting("a"))
                == "Two nodes are called a: give each a node-name, and a certificate, of its own.")
        #expect(
            try refusal(of: Self.greeting("b"), expected: "c")
                == "The address of node c leads to node b: correct cluster-address of c.")
        #expect(
            try refusal(of: Self.greeting(version: NodeGreeting.currentVersion + 2))?
                .hasSuffix("only versions that follow each other can run side by side.") == true)
        #expect(
            try refusal(of: Self.greeting(cluster: "c2"))
                == "Node b uses the database of another cluster than a: give both the same store.")
        #expect(
            try refusal(of: Self.greeting(partitions: 2048))
                == "The database of node b has 2048 partitions, and that of a 1024: they are not the same "
                + "database.")
        var bytes: [UInt8] = []
        bytes.appendField(3, "B\n")
        #expect(
            try refusal(of: NodeGreeting(decoding: bytes.span))
                == "A node greets with a name that cannot be one: set node-name there.")
    }

    @Test("of a stranger cannot forge a line of the log")
    func forgery() {
        #expect(NodeRefusal(quoting: Array("a\nb".utf8)).description == "a?b.")
        #expect(NodeRefusal(quoting: [UInt8](repeating: 65, count: 10_000)).description.count == 501)
    }
}
