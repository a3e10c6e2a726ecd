import PostriderCommands
import PostriderOptions
import PostriderRelay

/// `postrider nodes`: shows the nodes of a cluster, and drains one.
enum NodesCommand: OperatorCommand {
    static let name = "nodes"
    static let summary = "Show the nodes of a cluster of relays, and drain one."
    static let actions = [
        OperatorAction(name, "list", "List the nodes, as the node that is asked sees them.") {
            options, client in
            let (list, text) = try await client.list("/v1/nodes", of: Control.NodeList.self)
            guard !options.isSet("json") else {
                Console.say(text)
                return
            }
            let rows = list.nodes.map { node in
                [
                    node.name, node.address, "\(node.partitions)", state(node),
                    node.isLinked.map { $0 ? "yes" : "no" } ?? "-",
                    node.heartbeatMilliseconds.map { "\($0) ms ago" } ?? "-",
                ]
            }
            let heads = ["NODE", "ADDRESS", "PARTITIONS", "STATE", "LINK", "HEARTBEAT"]
            Console.say(Listing.columns(heads, rows))
            Console.say(
                "Node \(list.node) serves \(list.served) partitions. It has sent \(list.forwarded.sent) "
                    + "pushes to other nodes, and got \(list.forwarded.received) from them.")
        },
        OperatorAction(
            name, "drain",
            """
            Have the node that is asked give its partitions to the others. It stays a member until it is \
            stopped, and takes none.
            """,
            operands: [.required("NODE")],
            examples: [.init("Before an upgrade of the machine of node a", "postrider nodes drain a")]
        ) { options, client in
            let node = try options.checked(options.operands[0])
            let answer = try await client.request("PUT", "/v1/drained-nodes/\(node)")
            options.say(
                answer,
                "Node \(node) gives its partitions to the others: 'postrider nodes list' shows how far it is."
            )
        },
    ]

    /// A node without devices has been drained, or has joined and waits for links.
    private static func state(_ node: Control.Node) -> String {
        guard node.isDraining else { return "serving" }
        return node.partitions > 0 ? "draining" : "without devices"
    }
}
