public import PostriderCluster
public import PostriderNotifications

/// A cluster's database that is kept in memory: what several nodes share. Together with ``MemoryClusterStore`` and
/// ``MemoryPartitionStore`` it specifies what every such database does.
public final class MemoryCluster {
    /// A member and the store object that has joined as it.
    struct Member {
        var node: ClusterNode
        let holder: Int
        /// The generation with which it has joined.
        let first: Int64
    }

    /// The registry and the queue of all partitions. While its fault is set, every call of every node fails with it.
    public let disk = MemoryStore.Disk()
    /// Which node has which partition.
    public private(set) var placement: Placement
    private let identifier: String
    private var members: [NodeName: Member] = [:]
    private var generation: Int64 = 0
    private var holders = 0
    private var registryVersion: Int64 = 0

    /// Creates the database of a cluster without nodes.
    ///
    /// - Parameter identifier: what tells it from the databases of other clusters (``ClusterView/cluster``).
    public init(partitions: Int = Partition.count, identifier: String = "memory") {
        placement = Placement(partitions: partitions)
        self.identifier = identifier
    }

    func makeHolder() -> Int {
        holders += 1
        return holders
    }

    func check() throws(StoreError) {
        if let fault = disk.fault { throw fault }
    }

    var view: ClusterView {
        ClusterView(
            cluster: identifier, nodes: members.values.map(\.node), placement: placement,
            registryVersion: registryVersion)
    }

    /// The member of this name, if this object has joined as it.
    func member(_ name: NodeName, holder: Int) throws(StoreError) -> ClusterNode {
        guard let member = members[name], member.holder == holder else {
            throw StoreError(
                .fenced,
                "The node '\(name)' is not a member of the cluster any more: others have its devices.")
        }
        return member.node
    }

    /// The generation with which a member has joined; nil if there is none of this name.
    func firstGeneration(of name: NodeName) -> Int64? { members[name]?.first }

    func join(
        _ name: NodeName, at address: String, holder: Int, replacing dead: ClusterNode?
    ) throws(StoreError) -> Bool {
        if let dead { remove(dead) }
        if let member = members[name] { return member.holder == holder }
        guard members.count < Limits.nodes else {
            throw StoreError(
                .conflict, "The cluster has \(Limits.nodes) nodes, which is the most: end one of them first.")
        }
        generation += 1
        let node = ClusterNode(
            name: name, address: address, generation: generation, beat: 0, isDraining: true)
        members[name] = Member(node: node, holder: holder, first: generation)
        return true
    }

    func note(_ beat: Int64, of node: ClusterNode, isDraining: Bool) {
        members[node.name]?.node = ClusterNode(
            name: node.name, address: node.address, generation: node.generation, beat: beat,
            isDraining: isDraining)
    }

    func make(_ change: ClusterChange, by node: ClusterNode) {
        for dead in change.dead where dead.name != node.name { remove(dead) }
        let released = change.released.intersection(placement.partitions(of: node.name))
        placement = placement.replacing(released, with: nil)
        let claimed = change.claimed.intersection(placement.free)
        guard !claimed.isEmpty else { return }
        placement = placement.replacing(claimed, with: node.name)
        generation += 1
        members[node.name]?.node = ClusterNode(
            name: node.name, address: node.address, generation: generation, beat: node.beat,
            isDraining: node.isDraining)
    }

    /// Removes a node that still has this heartbeat.
    private func remove(_ node: ClusterNode) {
        guard let found = members[node.name]?.node,
            found.generation == node.generation, found.beat == node.beat
        else { return }
        remove(node.name)
    }

    func remove(_ name: NodeName) {
        members[name] = nil
        placement = placement.replacing(placement.partitions(of: name), with: nil)
    }

    func countChange() { registryVersion += 1 }
}

/// One node's access to a ``MemoryCluster``.
public final class MemoryClusterStore: ClusterStore {
    let cluster: MemoryCluster
    let name: NodeName
    private let address: String
    let holder: Int

    /// Creates the access of a node that has not joined yet.
    ///
    /// - Parameter address: where the other nodes reach it (``ClusterNode/address``).
    public init(_ cluster: MemoryCluster, name: NodeName, address: String) {
        self.cluster = cluster
        self.name = name
        self.address = address
        holder = cluster.makeHolder()
    }

    /// By what the database knows the store of the node's ledger.
    public var claim: MemberClaim {
        MemberClaim(name: name, holder: "\(holder).\(cluster.firstGeneration(of: name) ?? 0)")
    }

    /// Returns the cluster.
    public func look() throws(StoreError) -> ClusterView {
        try cluster.check()
        return cluster.view
    }

    /// Makes the node a member.
    public func join(replacing dead: ClusterNode?) throws(StoreError) -> Bool {
        try cluster.check()
        return try cluster.join(name, at: address, holder: holder, replacing: dead)
    }

    /// Records a heartbeat and returns the cluster.
    public func beat(_ number: Int64, isDraining: Bool) throws(StoreError) -> ClusterView {
        try cluster.check()
        let node = try cluster.member(name, holder: holder)
        guard number > node.beat else {
            throw StoreError(.conflict, "Heartbeat \(number) of '\(name)' comes after \(node.beat).")
        }
        cluster.note(number, of: node, isDraining: isDraining)
        return cluster.view
    }

    /// Makes a change.
    public func change(_ change: ClusterChange) throws(StoreError) {
        try cluster.check()
        cluster.make(change, by: try cluster.member(name, holder: holder))
    }

    /// Ends the membership.
    public func leave() throws(StoreError) {
        try cluster.check()
        guard (try? cluster.member(name, holder: holder)) != nil else { return }
        cluster.remove(name)
    }

    /// Does nothing: the cluster outlives the store.
    public func close() {}
}
