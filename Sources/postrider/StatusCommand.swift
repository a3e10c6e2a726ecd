import Options
import Relay

/// `postrider status`: what a relay is doing.
enum StatusCommand: Command {
    static let name = "status"
    static let summary = "Show what a relay is doing: connections, devices, notifications."

    static func run(_ arguments: [String]) async throws -> Int32 {
        let options = try table.parse(arguments)
        if options.asksForHelp {
            Console.say(table.helpText)
            return 0
        }
        let client = ControlClient(address: try ControlAddress.find(options))
        let (status, text) = try await client.list("/v1/status", of: Control.Status.self)
        Console.say(options.isSet("json") ? text : describe(status))
        return 0
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
                ("accepted", counters.accepted),
                ("  delivered", counters.delivered),
                ("  pending", counters.pending),
                ("  expired", counters.expired),
                ("  replaced", counters.replaced),
                ("  discarded", counters.discarded),
            ] + drops.map { ("  dropped: \($0.key)", $0.value) } + [
                ("channels", status.channels),
                ("subscriptions", status.subscriptions),
                ("broadcasts", status.broadcasts.accepted),
                ("  sent to devices", status.broadcasts.sent),
                ("  dropped: slow", status.broadcasts.dropped),
            ] + trace(status)
        let warning = counters.isBalanced ? "" : "\nThe counters do not balance: please report it."
        return rows.map { name, value in
            name + String(repeating: " ", count: max(24 - name.count, 1)) + "\(value)"
        }.joined(separator: "\n") + warning
    }

    /// What is missing in the trace, where there is one.
    private static func trace(_ status: Control.Status) -> [(String, any BinaryInteger)] {
        guard let trace = status.trace else { return [] }
        return [("trace: records lost", trace.lost), ("  refusals not told", trace.untoldRefusals)]
    }

    static let table = OptionTable(
        command: "postrider status",
        summary: """
            Show what a relay is doing. Every notification that it accepted is delivered, pending, expired, \
            replaced, discarded (now or never, and the device was not there) or dropped.
            """,
        options: ControlAddress.options + [.flag("json", "Print the relay's answer, as JSON.")],
        examples: [
            .init("The relay of 'postrider dev' in this directory", "postrider status"),
            .init("Another one", "postrider status --control unix:/run/postrider/control.sock"),
        ]
    )
}
