/// Which node has which partition, at one moment. It never changes; a change makes a new placement.
public struct Placement: Hashable, Sendable {
    /// The owner of each partition, by number; nil while nobody has it.
    private let owners: [NodeName?]

    /// Creates a placement in which nobody has anything.
    public init(partitions: Int = Partition.count) { owners = Array(repeating: nil, count: partitions) }

    /// Creates a placement from the owner of each partition, by number.
    public init(owners: [NodeName?]) { self.owners = owners }

    /// All partitions.
    public var partitions: [Partition] { owners.indices.map(Partition.init) }

    /// The node that has a partition; nil if none has it.
    public func owner(of partition: Partition) -> NodeName? { owners[partition.number] }

    /// The partitions of a node.
    public func partitions(of node: NodeName) -> Set<Partition> {
        Set(partitions.filter { owners[$0.number] == node })
    }

    /// The partitions that no node has.
    public var free: Set<Partition> { Set(partitions.filter { owners[$0.number] == nil }) }

    /// This placement with other owners of some partitions.
    public func replacing(_ changed: some Sequence<Partition>, with owner: NodeName?) -> Placement {
        var owners = owners
        for partition in changed { owners[partition.number] = owner }
        return Placement(owners: owners)
    }

    /// The placement that these nodes should come to from this one: the numbers of their partitions differ by at most
    /// one, and no more partitions change their owner than that takes. It is a pure function of its input, so every
    /// node that sees the same nodes and the same placement comes to the same result.
    ///
    /// Nodes with the most partitions get one more where the division leaves a rest, because then they give fewer
    /// away. Without nodes, nobody has anything.
    public func balanced(over nodes: Set<NodeName>) -> Placement {
        guard !nodes.isEmpty else { return Placement(partitions: owners.count) }
        var held: [NodeName: [Partition]] = [:]
        var spare: [Partition] = []
        for partition in partitions {
            if let owner = owners[partition.number], nodes.contains(owner) {
                held[owner, default: []].append(partition)
            } else {
                spare.append(partition)
            }
        }
        let ranked = nodes.map { (name: $0, count: held[$0]?.count ?? 0) }
            .sorted { ($1.count, $0.name) < ($0.count, $1.name) }
        let (least, rest) = owners.count.quotientAndRemainder(dividingBy: nodes.count)
        func quota(_ rank: Int) -> Int { least + (rank < rest ? 1 : 0) }
        // What nodes have too much of joins what nobody has, in the order of numbers.
        for (rank, node) in ranked.enumerated() where node.count > quota(rank) {
            spare += held[node.name]?[quota(rank)...] ?? []
        }
        var owners = owners
        var open = spare.sorted()[...]
        for (rank, node) in ranked.enumerated() where node.count < quota(rank) {
            let added = quota(rank) - node.count
            for partition in open.prefix(added) { owners[partition.number] = node.name }
            open = open.dropFirst(added)
        }
        return Placement(owners: owners)
    }
}
