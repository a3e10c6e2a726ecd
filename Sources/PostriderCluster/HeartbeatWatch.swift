/// Watches the heartbeats of other nodes, on the watcher's monotonic clock.
struct HeartbeatWatch: Sendable {
    private struct Sight {
        var node: ClusterNode
        /// When this heartbeat was seen first.
        var since: UInt64
    }

    private let duration: UInt64
    private var sights: [NodeName: Sight] = [:]

    init(duration: UInt64) { self.duration = duration }

    /// Notes the nodes of a view that was received now, besides the watcher itself. The time of a heartbeat begins
    /// when it is seen first.
    mutating func note(_ view: ClusterView, except own: NodeName?, at now: UInt64) {
        sights = sights.filter { view.nodes[$0.key] != nil }
        for (name, node) in view.nodes where name != own {
            let seen = sights[name]?.node
            guard seen?.generation != node.generation || seen?.beat != node.beat else { continue }
            sights[name] = Sight(node: node, since: now)
        }
    }

    /// Begins all times anew at the next view: while the watcher cannot look, others may be unable to reach the
    /// database, too.
    mutating func lookAway() { sights = [:] }

    /// The nodes whose last heartbeat has been seen for a whole lease.
    func dead(at now: UInt64) -> [ClusterNode] {
        sights.values.filter { now >= $0.since + duration }.map(\.node).sorted { $0.name < $1.name }
    }

    /// When the first node will have had its heartbeat for a whole lease; nil if there are no nodes.
    var nextEnd: UInt64? { sights.values.map { $0.since + duration }.min() }
}
