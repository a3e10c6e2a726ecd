import PostriderCluster
import PostriderNotifications
import RelayFixtures
import Testing

@testable import PostriderRelay

@Suite("The places of partitions")
struct PartitionPlacesTests {
    private static let device = Samples.device

    @Test("are here for what the node serves, at a node with a link, and nowhere for all else")
    func places() throws {
        let (own, near, far) = (
            try #require(NodeName("a")), try #require(NodeName("b")), try #require(NodeName("c"))
        )
        let partition = Partition(of: Self.device)
        func place(of owner: NodeName?, serves: Bool = true) -> PartitionPlaces.Place {
            let placement = Placement().replacing([partition], with: owner)
            return PartitionPlaces(
                placement, own: own, served: serves ? [partition] : [], links: [near: 4]
            ).place(of: Self.device)
        }
        #expect(place(of: own) == .here)
        #expect(place(of: own, serves: false) == .nowhere)
        #expect(place(of: near) == .node(link: 4))
        #expect(place(of: far) == .nowhere)
        #expect(place(of: nil) == .nowhere)
    }
}
