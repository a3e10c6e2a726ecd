import PostriderCluster
import PostriderNotifications
import PostriderSeededRandom
import Testing

@Suite("A placement of partitions")
struct PlacementTests {
    private static func names(_ numbers: some Sequence<Int>) throws -> Set<NodeName> {
        Set(try numbers.map { try #require(NodeName("node-\($0)")) })
    }

    private static func moved(_ old: Placement, _ new: Placement) -> Int {
        old.partitions.count { old.owner(of: $0) != nil && old.owner(of: $0) != new.owner(of: $0) }
    }

    @Test("has the same partition for a device for ever")
    func partitions() {
        let table: [(UInt32, Int)] = [(0, 0), (1023, 1023), (1024, 0), (0xABCD_EF12, 0x312), (.max, 1023)]
        for (low, number) in table {
            #expect(Partition(of: DeviceIdentity(high: .max, low: low)) == Partition(number))
            for other in [0, 1022, .max] as [UInt32] {
                let identity = Partition(number).identity(high: 7, low: other)
                #expect(Partition(of: identity) == Partition(number) && identity.high == 7)
            }
        }
    }

    @Test("gives all partitions to one node, and halves them when a second one comes")
    func growth() throws {
        let (one, two) = (try Self.names(1...1), try Self.names(1...2))
        let first = Placement().balanced(over: one)
        #expect(first.free.isEmpty)
        let second = first.balanced(over: two)
        #expect(two.allSatisfy { second.partitions(of: $0).count == 512 })
        #expect(Self.moved(first, second) == 512)
        #expect(second.balanced(over: two) == second)
        #expect(second.balanced(over: []).free.count == 1024)
    }

    @Test(
        "is even to one partition and moves as few as possible, whatever nodes come and go",
        arguments: 1...200)
    func changes(_ seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        var placement = Placement()
        for _ in 0..<20 {
            let nodes = try Self.names(
                (0..<Int.random(in: 1...12, using: &random)).map { _ in
                    Int.random(in: 1...20, using: &random)
                })
            let next = placement.balanced(over: nodes)
            let counts = nodes.map { next.partitions(of: $0).count }.sorted()
            #expect(counts.reduce(0, +) == 1024 && (counts.last ?? 0) - (counts.first ?? 0) <= 1)
            // Those of nodes that are gone must move, and what the others have above the lowest even numbers.
            let kept = nodes.map { placement.partitions(of: $0).count }.sorted(by: >)
            let orphans = 1024 - placement.free.count - kept.reduce(0, +)
            let surplus = zip(counts.reversed(), kept).map { max(0, $1 - $0) }.reduce(0, +)
            #expect(Self.moved(placement, next) == orphans + surplus)
            #expect(next.balanced(over: nodes) == next)
            // Nodes may see it while some partitions are on their way.
            placement = next.replacing(next.partitions.filter { _ in random.next() % 8 == 0 }, with: nil)
        }
    }

    @Test("names nodes as hosts are named")
    func names() {
        for good in ["a", "relay-1", "relay-1.example", "7", String(repeating: "x", count: 63)] {
            #expect(NodeName(good)?.text == good)
        }
        for bad in ["", "-a", ".a", "A", "a b", "größe", "a/b", "a'", String(repeating: "x", count: 64)] {
            #expect(NodeName(bad) == nil)
        }
    }
}
