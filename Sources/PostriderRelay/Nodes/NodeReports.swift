import PostriderCluster
import Synchronization

/// The cluster as one node sees it, for the operator and for metrics. The thread of the node writes it, and others
/// read it.
final class NodeReports: Sendable {
    /// What the node knows.
    struct Report: Sendable {
        /// The cluster, as the database had it at the last answered heartbeat; nil before the first.
        private(set) var view: ClusterView?
        /// When the present heartbeat of each node was seen first, in nanoseconds of the monotonic clock.
        private(set) var seenAt: [NodeName: UInt64] = [:]
        /// The partitions whose devices the node serves.
        var served = 0
        /// The open links to other nodes.
        var links: [NodeName: Int] = [:]
        /// The nodes to which or from which the node, which has just joined, needs a link before it takes devices.
        var awaited: [NodeName] = []
        /// What was sent over links, and what came.
        var counters = NodeTraffic()

        /// The other nodes, and the links to those that are linked.
        func others(than own: NodeName) -> [NodeName: Int?] {
            var others: [NodeName: Int?] = [:]
            for node in view?.nodes.keys.filter({ $0 != own }) ?? [] {
                others.updateValue(links[node], forKey: node)
            }
            return others
        }

        /// Notes the cluster as the database has it now.
        mutating func note(_ newer: ClusterView, at now: UInt64) {
            guard newer != view else { return }
            seenAt = newer.nodes.mapValues { node in
                let known = view?.nodes[node.name]
                let isSame = known?.beat == node.beat && known?.generation == node.generation
                return isSame ? seenAt[node.name, default: now] : now
            }
            view = newer
        }
    }

    private let report = Mutex(Report())

    /// What the node knows now.
    var current: Report { report.withLock { $0 } }

    /// Replaces what the node knows.
    func replace(_ newer: Report) { report.withLock { $0 = newer } }
}

/// How many pushes of one node went over its links.
struct NodeTraffic: Equatable {
    /// Pushes of this node's providers that were sent to other nodes.
    var sent: UInt64 = 0
    /// Pushes of other nodes' providers.
    var received: UInt64 = 0
    /// Pushes that were refused with 429, because too much waits for their node.
    var refused: UInt64 = 0
    /// Pushes that were answered with 503, because the link to their node was not there or has ended.
    var lost: UInt64 = 0
    /// Broadcasts that a node was not sent, or a shard of this node, because too much waited for it.
    var lostBroadcasts: UInt64 = 0
}
