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
        /// Nobody serves it at the moment, or its node cannot be reached.
        case nowhere
    }

    /// No device has a place, as before a node is a member of its cluster.
    static let nowhere = PartitionPlaces(Array(repeating: .nowhere, count: Partition.count))

    private let places: [Place]
    /// The links to all nodes that serve anything, in order.
    let links: [Int]

    /// The places of partitions, by their numbers. A test may have a cluster with fewer.
    init(_ places: [Place]) {
        precondition(places.count <= Partition.count, "a cluster has no more partitions")
        self.places = places
        var links: Set<Int> = []
        for case .node(let link) in places { links.insert(link) }
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
            })
    }

    /// Whether nobody serves some of the partitions at the moment, or their node cannot be reached.
    var hasGaps: Bool { places.contains(.nowhere) }

    /// The place of a device's home.
    func place(of device: DeviceIdentity) -> Place { places[Partition(of: device).number] }

    /// The place of the home of an app's channels.
    func place(of owner: ChannelOwner) -> Place { places[Partition(of: owner).number] }
}
