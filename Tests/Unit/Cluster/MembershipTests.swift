import PostriderCluster
import PostriderStorage
import Testing

@Suite("The membership of a node")
struct MembershipTests {
    /// A membership on a database that answers at once.
    private final class Fixture {
        let store: MemoryClusterStore
        private var membership: Membership
        var now: UInt64 = 0
        var isCut = false
        var orders: [MembershipOrder] = []

        init(_ name: String, in cluster: MemoryCluster) throws {
            let name = try #require(NodeName(name))
            store = MemoryClusterStore(cluster, name: name, address: "\(name):2195")
            membership = Membership(name: name)
        }

        var served: Int { membership.served(at: now).count }

        var servingEnd: UInt64 { membership.servingEnd }

        /// Lets time pass in steps of 10 ms, and returns the orders that are no requests.
        func pass(_ milliseconds: UInt64) throws -> [MembershipOrder] {
            orders = []
            for _ in 0...milliseconds / 10 {
                now += 10_000_000
                try perform(membership.turn(at: now))
            }
            return orders
        }

        func leave() throws { try perform(membership.leave(at: now)) }

        private func perform(_ first: [MembershipOrder]) throws {
            var open = first
            while !open.isEmpty {
                let order = open.removeFirst()
                switch order {
                case .ask(let request): open += membership.answered(try answer(request), at: now)
                case .giveUp(let partitions):
                    orders.append(order)
                    open += membership.gaveUp(partitions, at: now)
                default: orders.append(order)
                }
            }
        }

        private func answer(_ request: MembershipRequest) throws -> MembershipAnswer {
            guard !isCut else { return .failed }
            switch request {
            case .look: return .view(try store.look())
            case .join(let dead): return .joined(try store.join(replacing: dead))
            case .beat(let number, let isDraining):
                guard let view = try? store.beat(number, isDraining: isDraining) else { return .fenced }
                return .view(view)
            case .change(let change):
                try store.change(change)
                return .done
            case .leave:
                try store.leave()
                return .done
            }
        }
    }

    @Test("begins with all partitions if the node is alone, and ends without any")
    func alone() throws {
        let cluster = MemoryCluster()
        let fixture = try Fixture("a", in: cluster)
        let orders = try fixture.pass(10)
        #expect(orders == [.resume, .load(Set(cluster.placement.partitions), generation: 2)])
        #expect(fixture.served == 1024)
        try fixture.leave()
        #expect(fixture.orders.last == .end)
        #expect(fixture.served == 0 && cluster.placement.free.count == 1024)
    }

    @Test(
        "gives a half to a second node, sixteen partitions at a time, and takes it back when that one is gone"
    )
    func second() throws {
        let cluster = MemoryCluster()
        let (first, second) = (try Fixture("a", in: cluster), try Fixture("b", in: cluster))
        _ = try first.pass(10)
        for _ in 0..<700 {
            #expect(first.served + second.served <= 1024)
            for case .giveUp(let given) in try first.pass(0) { #expect((1...16).contains(given.count)) }
            _ = try second.pass(0)
        }
        #expect(first.served == 512 && second.served == 512)
        // The second one is gone. Its last heartbeat is watched for a lease.
        _ = try first.pass(1300)
        #expect(first.served == 512)
        _ = try first.pass(300)
        #expect(first.served == 1024)
        // It comes to itself and learns that it has nothing any more.
        second.now = first.now
        #expect(try second.pass(10).prefix(2) == [.suspend, .drop])
    }

    @Test("says until when it serves, and that it does not while it is suspended or outside")
    func servingEnd() throws {
        let cluster = MemoryCluster()
        let fixture = try Fixture("a", in: cluster)
        #expect(fixture.servingEnd == 0)
        _ = try fixture.pass(10)
        let first = fixture.servingEnd
        #expect(first > fixture.now && first <= fixture.now + Lease.usual.serving)
        _ = try fixture.pass(500)
        #expect(fixture.servingEnd > first)
        fixture.isCut = true
        _ = try fixture.pass(1300)
        #expect(fixture.servingEnd == 0 && fixture.served == 0)
        fixture.isCut = false
        _ = try fixture.pass(300)
        #expect(fixture.servingEnd > fixture.now && fixture.served == 1024)
        try fixture.leave()
        #expect(fixture.servingEnd == 0)
    }

    @Test("stops to serve before others may take over, and goes on if nobody has")
    func suspension() throws {
        let fixture = try Fixture("a", in: MemoryCluster())
        _ = try fixture.pass(1000)
        fixture.isCut = true
        #expect(try fixture.pass(900).isEmpty && fixture.served == 1024)
        #expect(try fixture.pass(400) == [.suspend] && fixture.served == 0)
        fixture.isCut = false
        #expect(try fixture.pass(300) == [.resume] && fixture.served == 1024)
    }

    @Test("is refused if a node of the same name is alive, and waits for one that is not")
    func namesakes() throws {
        let cluster = MemoryCluster()
        let first = try Fixture("a", in: cluster)
        _ = try first.pass(10)
        let second = try Fixture("a", in: cluster)
        for _ in 0..<100 { _ = (try first.pass(0), try second.pass(0)) }
        #expect(second.orders.isEmpty && second.served == 0 && first.served == 1024)
        let third = try Fixture("a", in: cluster)
        #expect(try third.pass(1400).isEmpty)
        #expect(try third.pass(300).first == .resume && third.served == 1024)
        var refusals: [MembershipOrder] = []
        let fourth = try Fixture("a", in: cluster)
        for _ in 0..<100 { refusals += (try third.pass(0), try fourth.pass(0)).1 }
        #expect(refusals == [.refuse])
    }
}
