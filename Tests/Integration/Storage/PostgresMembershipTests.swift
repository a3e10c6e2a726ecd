import DatabaseFixtures
import PostriderCluster
import PostriderNotifications
import PostriderPostgres
import Testing

/// Memberships on a real server, in one thread. Their time goes on only between turns, so that no lease
/// ends because the machine has much to do.
@Suite struct PostgresMembershipTests {
    private final class Clock {
        /// Nanoseconds.
        private(set) var now: UInt64 = 0

        func advance() { now += 20_000_000 }
    }

    private final class Node {
        let name: NodeName
        private let store: PostgresClusterStore
        private var membership: Membership
        private(set) var drops = 0
        private let clock: Clock

        init(_ name: String, at address: String, _ clock: Clock) throws {
            self.clock = clock
            self.name = try #require(NodeName(name))
            store = try PostgresClusterStore(
                try #require(DatabaseAddress(address)), name: self.name, address: "\(name):2195",
                acceptsLosses: true, log: .none)
            membership = Membership(name: self.name)
        }

        var served: Set<Partition> { membership.served(at: clock.now) }

        func run() {
            var open = membership.turn(at: clock.now)
            while !open.isEmpty {
                switch open.removeFirst() {
                case .ask(let request): open += membership.answered(store.answer(request).0, at: clock.now)
                case .giveUp(let partitions): open += membership.gaveUp(partitions, at: clock.now)
                case .drop: drops += 1
                case .load, .suspend, .resume, .end, .refuse: break
                }
            }
        }

        func close() { store.close() }

        /// Whether the database has everything that the node serves as the node's own.
        func isOwner(of partitions: Set<Partition>) -> Bool {
            (try? store.look()).map { partitions.isSubset(of: $0.placement.partitions(of: name)) } ?? true
        }
    }

    private let clock = Clock()

    /// Lets nodes run until they serve so many partitions, whoever has more.
    private func run(_ nodes: [Node], until counts: [Int]) {
        let end = clock.now + 60_000_000_000
        while nodes.map(\.served.count).sorted(by: >) != counts {
            guard clock.now < end else {
                Issue.record("the nodes serve \(nodes.map(\.served.count)), and not \(counts)")
                return
            }
            clock.advance()
            for node in nodes { node.run() }
            let served = nodes.map(\.served)
            #expect(served.reduce(Set()) { $0.union($1) }.count == served.map(\.count).reduce(0, +))
        }
        for node in nodes { #expect(node.isOwner(of: node.served)) }
    }

    @Test("Nodes share the partitions, take over those of a dead one, and outlive a crash of the server")
    func life() throws {
        let server = try DatabaseServer()
        let address = try server.makeDatabase()
        let nodes = try ["a", "b", "c"].map { try Node($0, at: address, clock) }
        run([nodes[0]], until: [1024])
        run(nodes, until: [342, 341, 341])
        // The third one is gone.
        nodes[2].close()
        run(Array(nodes[..<2]), until: [512, 512])
        // The server crashes, and everybody stops to serve; then all goes on, and nobody is declared dead.
        server.stop(with: "KILL")
        run(Array(nodes[..<2]), until: [0, 0])
        try server.start()
        run(Array(nodes[..<2]), until: [512, 512])
        #expect(nodes[..<2].allSatisfy { $0.drops == 0 })
        // The third one comes to itself, and joins again.
        run(nodes, until: [342, 341, 341])
        #expect(nodes[2].drops == 1)
    }
}
