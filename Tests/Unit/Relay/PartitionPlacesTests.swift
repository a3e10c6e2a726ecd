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
            ).place(of: partition)
        }
        #expect(place(of: own) == .here)
        #expect(place(of: own, serves: false) == .nowhere)
        #expect(place(of: near) == .node(link: 4))
        #expect(place(of: far) == .nowhere)
        #expect(place(of: nil) == .nowhere)
    }

    @Test("are said to be moving for some time after a partition has lost its home, and not after that")
    func absences() {
        var absences = PartitionAbsences()
        func places(_ some: PartitionPlaces.Place...) -> PartitionPlaces { PartitionPlaces(some) }
        let patience = UInt64(Limits.movingMilliseconds) * 1_000_000
        #expect(absences.mark(places(.here, .nowhere), at: 10) == places(.here, .moving))
        #expect(absences.nextEnd == 10 + patience)
        #expect(absences.mark(places(.nowhere, .nowhere), at: 20) == places(.moving, .moving))
        #expect(absences.mark(places(.nowhere, .nowhere), at: 10 + patience) == places(.moving, .nowhere))
        #expect(absences.nextEnd == 20 + patience)
        let found = places(.node(link: 1), .nowhere)
        #expect(absences.mark(found, at: 20 + patience) == found && absences.nextEnd == nil)
        #expect(absences.mark(places(.nowhere, .here), at: 30 + patience) == places(.moving, .here))
    }
}
