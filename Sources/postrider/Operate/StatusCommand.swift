import FoundationEssentials
import PostriderCommands
import PostriderOptions
import PostriderRelay

/// `postrider status`: shows the counters of a relay.
enum StatusCommand: Command {
    static let name = "status"
    static let summary = "Show what a relay is doing: connections, devices, notifications."

    static func run(_ arguments: [String]) async throws -> Int32 {
        guard let options = try table.parseOrHelp(arguments) else { return 0 }
        let client = ControlClient(address: try ControlAddress.find(options))
        let (status, text) = try await client.list("/v1/status", of: Control.Status.self)
        Console.say(options.isSet("json") ? text : describe(status))
        let code = exitCode(status)
        return code == 0 ? client.gaps.exitCode : code
    }

    /// Returns 3 if the counters do not balance, so that a script which monitors the relay notices.
    static func exitCode(_ status: Control.Status) -> Int32 {
        status.counters.isBalanced && unbalanced(status).isEmpty ? 0 : 3
    }

    /// The shards whose counters do not balance.
    private static func unbalanced(_ status: Control.Status) -> [String] {
        shards(of: status).filter { !$0.counters.isBalanced }.map(\.name)
    }

    /// All shards by their names, which say the node in a cluster.
    private static func shards(
        of status: Control.Status
    ) -> [(name: String, counters: Control.Status.Counters)] {
        let nodes = status.nodes?.map { (" of node \($0.name)", $0.status?.countersOfShards ?? []) }
        return (nodes ?? [("", status.countersOfShards)]).flatMap { suffix, counters in
            counters.enumerated().map { ("shard \($0)\(suffix)", $1) }
        }
    }

    /// Each node of a cluster with what it serves; empty without a cluster.
    private static func nodes(_ status: Control.Status) -> [String] {
        (status.nodes ?? []).map { node in
            guard let own = node.status else { return Listing.fact("node \(node.name)", "?", from: 24) }
            let text =
                "\(own.devices) devices, \(own.deviceConnections) device connections, "
                + "\(own.counters.pending) pending"
            return Listing.fact("node \(node.name)", text, from: 24)
        }
    }

    static func describe(_ status: Control.Status) -> String {
        let counters = status.counters
        let drops = counters.dropped.sorted { $0.key < $1.key }
        let rows: [(String, any BinaryInteger)] =
            [
                ("shards", status.shards),
                ("provider connections", status.providerConnections),
                ("device connections", status.deviceConnections),
                ("devices", status.devices),
                ("  told to come back", status.deferredDevices),
                ("refused connections", status.refusedConnections),
                ("accepted", counters.accepted),
                ("  delivered", counters.delivered),
                ("  pending", counters.pending),
                ("  expired", counters.expired),
                ("  replaced", counters.replaced),
                ("  discarded", counters.discarded),
            ] + (counters.moved.map { [("  moved to other nodes", $0)] } ?? [])
            + drops.map { ("  dropped: \($0.key)", $0.value) } + [
                ("channels", status.channels),
                ("subscriptions", status.subscriptions),
                ("broadcasts", status.broadcasts.accepted),
                ("  sent to devices", status.broadcasts.sent),
                ("  dropped: slow", status.broadcasts.dropped),
            ] + trace(status)
        let facts = nodes(status) + rows.map { Listing.fact($0, "\($1)", from: 24) }
        return facts.joined(separator: "\n") + "\n" + balance(status)
    }

    /// Whether every accepted notification is accounted for, by shard and in total.
    private static func balance(_ status: Control.Status) -> String {
        let moved = status.counters.moved == nil ? "" : " + moved"
        let equation = "accepted = delivered + pending + expired + replaced + discarded + dropped\(moved)"
        var lines = [Listing.fact("balance", equation, from: 24)]
        for (name, counters) in shards(of: status) {
            let parts =
                [
                    counters.delivered, counters.pending, counters.expired, counters.replaced,
                    counters.discarded,
                    counters.dropped.values.reduce(0, +),
                ] + (counters.moved.map { [$0] } ?? [])
            lines.append(
                Listing.fact(
                    "  \(name)",
                    "\(counters.accepted) = " + parts.map { "\($0)" }.joined(separator: " + ")
                        + (counters.isBalanced ? "" : "  DOES NOT BALANCE"), from: 24))
        }
        guard exitCode(status) != 0 else { return lines.joined(separator: "\n") }
        let culprits = unbalanced(status).joined(separator: ", ")
        lines.append(
            "ALARM: the counters of \(culprits.isEmpty ? "the relay" : culprits) do not balance. "
                + "This is a defect of the relay: keep its log and its data directory, and report it.")
        return lines.joined(separator: "\n")
    }

    /// How many records the trace has lost; empty if there is no trace.
    private static func trace(_ status: Control.Status) -> [(String, any BinaryInteger)] {
        guard let trace = status.trace else { return [] }
        return [("trace: records lost", trace.lost), ("  refusals not told", trace.untoldRefusals)]
    }

    static let table = OptionTable(
        command: "postrider status",
        summary: """
            Show what a relay is doing, or a whole cluster of relays, whichever of its nodes is asked. Every \
            notification that it accepted is delivered, pending, expired, replaced, discarded \
            (now or never, and the device was not there) or dropped. The exit code is 3 if one is not \
            accounted for, and 4 if a node has not answered.
            """,
        options: ControlAddress.folderOptions + [.flag("json", "Print the relay's answer, as JSON.")],
        examples: [
            .init("The relay of 'postrider dev' in this directory", "postrider status"),
            .init("Another relay", "postrider status --control unix:/run/postrider/control.sock"),
        ]
    )
}
