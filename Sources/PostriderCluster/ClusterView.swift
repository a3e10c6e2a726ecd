public import PostriderNotifications

/// A node as the database has it.
public struct ClusterNode: Hashable, Sendable {
    /// Its name.
    public let name: NodeName
    /// Where the other nodes reach it: a host or an address, and a port.
    public let address: String
    /// The number of its present membership, by which it differs from an earlier one of the same name. The rows of
    /// its notifications begin with it: row = generation · 2⁴⁰ + counter.
    public let generation: Int64
    /// The number of its last heartbeat. It rises.
    public let beat: Int64
    /// Whether it gives its partitions away and takes no more.
    public let isDraining: Bool

    /// Creates a node from its parts.
    public init(name: NodeName, address: String, generation: Int64, beat: Int64, isDraining: Bool) {
        self.name = name
        self.address = address
        self.generation = generation
        self.beat = beat
        self.isDraining = isDraining
    }
}

/// The cluster as its database has it at one moment.
public struct ClusterView: Hashable, Sendable {
    /// What tells the cluster's database from those of other clusters. It is drawn at random, once.
    public let cluster: String
    /// The nodes, by name.
    public let nodes: [NodeName: ClusterNode]
    /// Which node has which partition.
    public let placement: Placement
    /// The version of what every node has: keys, topics, token secrets. It rises with every change of these.
    public let registryVersion: Int64

    /// Creates a view from its parts.
    public init(cluster: String, nodes: [ClusterNode], placement: Placement, registryVersion: Int64) {
        self.cluster = cluster
        self.nodes = Dictionary(nodes.map { ($0.name, $0) }, uniquingKeysWith: { $1 })
        self.placement = placement
        self.registryVersion = registryVersion
    }
}

/// A change of the cluster that one node makes in one transaction, in the order of the properties.
public struct ClusterChange: Hashable, Sendable {
    /// Nodes that have had this heartbeat for the whole of a lease. Each that still has it is removed, and its
    /// partitions become free; a commit of its that is under way is waited for.
    public var dead: [ClusterNode] = []
    /// Partitions of the node itself that become free. Those of others stay theirs.
    public var released: Set<Partition> = []
    /// Free partitions that the node takes. Those that are not free stay what they are. If it gets one, it also gets a
    /// new generation, so that its rows are above those of the earlier owner.
    public var claimed: Set<Partition> = []

    /// Creates an empty change.
    public init() {}

    /// Whether nothing changes.
    public var isEmpty: Bool { dead.isEmpty && released.isEmpty && claimed.isEmpty }
}

extension QueueRow {
    /// The rows of a node begin with its generation, shifted by so many bits.
    public static let generationShift: Int64 = 40
}
