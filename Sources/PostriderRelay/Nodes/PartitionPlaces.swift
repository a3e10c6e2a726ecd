import PostriderCluster
import PostriderNotifications

/// Where the devices of each partition have their home, as one node knows it at one moment.
struct PartitionPlaces: Equatable, Sendable {
    /// Where a device has its home.
    enum Place: Equatable {
        /// On this node.
        case here
        /// On the node at the other end of this link.
        case node(link: Int)
        /// No node that can be reached serves it, for a short time so far: a new home is expected.
        case moving
        /// No node that can be reached serves it, and nobody knows for how long.
        case nowhere
    }

    /// No device has a place yet, as before a node is a member of its cluster.
    static let unknown = PartitionPlaces(Array(repeating: .moving, count: Partition.count))

    private let places: [Place]
    /// The open links to all other nodes, in order. One that serves nothing yet may do so before this node knows.
    let links: [Int]

    /// The places of partitions, by their numbers. A test may have a cluster with fewer.
    init(_ places: [Place], links: [Int] = []) {
        precondition(places.count <= Partition.count, "a cluster has no more partitions")
        self.places = places
        self.links = links.sorted()
    }

    /// The places that follow from a placement.
    ///
    /// - Parameters:
    ///   - served: the partitions that this node serves.
    ///   - links: the open links to other nodes, by their names.
    init(
        _ placement: Placement, own: NodeName, served: Set<Partition>, links: [NodeName: Int]
    ) {
        self.init(
            placement.partitions.map { partition in
                guard let owner = placement.owner(of: partition) else { return .nowhere }
                guard owner != own else { return served.contains(partition) ? .here : .nowhere }
                return links[owner].map { .node(link: $0) } ?? .nowhere
            }, links: Array(links.values))
    }

    /// Whether nobody serves some of the partitions at the moment, or their node cannot be reached.
    var hasGaps: Bool { places.contains { $0 == .nowhere || $0 == .moving } }

    /// The number of partitions.
    var count: Int { places.count }

    /// The place of the homes in a partition.
    func place(of partition: Partition) -> Place { places[partition.number] }

    /// The partitions whose place was another one before, and that place.
    func changes(since former: PartitionPlaces?) -> [(Partition, Place)] {
        guard let former else { return [] }
        return zip(former.places, places).enumerated().compactMap { number, change in
            change.0 == change.1 ? nil : (Partition(number), change.0)
        }
    }

    /// The same places, where some partitions without a home are ``Place/moving``.
    func moving(_ isMoving: (Partition) -> Bool) -> PartitionPlaces {
        PartitionPlaces(
            places.enumerated().map { number, place in
                place == .nowhere && isMoving(Partition(number)) ? .moving : place
            }, links: links)
    }
}
