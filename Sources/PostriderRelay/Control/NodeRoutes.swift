import PostriderCluster
import PostriderNotifications
import PostriderTransport

/// Answers the operator's requests about the nodes of the relay's cluster.
struct NodeRoutes {
    /// The node's own name.
    let name: NodeName
    let mailboxes: NodeMailboxes
    let scheduler: any Scheduler

    /// Answers a request for the list, or one to drain the node of this name.
    func handle(drain node: String?, _ respond: ControlHandler.Respond) {
        guard let node else { return respond(ControlHandler.answer(list)) }
        guard node == name.text else {
            return respond(
                ControlHandler.refusal(
                    404, "This is node \(name), and only it can be drained here: ask \(node) itself."))
        }
        mailboxes.events.postEvenIfFull(.drain)
        respond(.done)
    }

    private var list: Control.NodeList {
        let report = mailboxes.reports.current
        let nodes = report.view?.nodes.values.sorted { $0.name < $1.name } ?? []
        let now = scheduler.now
        let ages = report.seenAt.mapValues { Int64((now - min($0, now)) / 1_000_000) }
        return Control.NodeList(
            node: name.text, served: report.served, heartbeatMilliseconds: ages[name],
            forwarded: Control.NodeList.Forwarded(report.counters),
            nodes: nodes.map { node in
                Control.Node(
                    name: node.name.text, address: node.address,
                    partitions: report.view?.placement.partitions(of: node.name).count ?? 0,
                    isDraining: node.isDraining,
                    isLinked: node.name == name ? nil : report.links[node.name] != nil,
                    heartbeatMilliseconds: ages[node.name])
            })
    }
}

extension Control {
    /// `GET /v1/nodes`: the cluster as one of its nodes sees it.
    public struct NodeList: Codable, Sendable {
        /// Pushes that went over the links of the node since its start.
        public struct Forwarded: Codable, Sendable {
            /// To other nodes.
            public var sent: UInt64
            /// From other nodes.
            public var received: UInt64
            /// Refused with 429, because too much waited for their node.
            public var refused: UInt64
            /// Answered with 503, because the link to their node was not there or has ended.
            public var lost: UInt64
        }

        /// The name of the node that answers.
        public var node: String
        /// The number of partitions whose devices it serves now.
        public var served: Int
        /// Milliseconds since the database has answered its last heartbeat with news; nil before the first.
        public var heartbeatMilliseconds: Int64?
        /// What went over its links.
        public var forwarded: Forwarded
        /// All nodes, by name.
        public var nodes: [Node]
    }

    /// A node of a cluster.
    public struct Node: Codable, Sendable {
        /// Its name.
        public var name: String
        /// Where the other nodes reach it.
        public var address: String
        /// The number of partitions that it has in the database.
        public var partitions: Int
        /// Whether it gives its partitions away.
        public var isDraining: Bool
        /// Whether the node that answers has a link to it; nil for that node itself.
        public var isLinked: Bool?
        /// Milliseconds since the node that answers has seen its latest heartbeat. The others take its partitions if
        /// they see no new one for a lease of 1.5 seconds.
        public var heartbeatMilliseconds: Int64?
    }
}

extension Control.NodeList.Forwarded {
    init(_ counters: NodeTraffic) {
        self.init(
            sent: counters.sent, received: counters.received, refused: counters.refused, lost: counters.lost)
    }
}
