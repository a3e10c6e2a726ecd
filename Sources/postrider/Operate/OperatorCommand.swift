import PostriderCommands
import PostriderOptions

/// A command with several actions on one kind of object.
protocol OperatorCommand: Command {
    /// The actions, in the order of the help.
    static var actions: [OperatorAction] { get }
}

extension OperatorCommand {
    static var table: OptionTable {
        OptionTable(
            command: "postrider \(name)", summary: summary, operands: [.required("ACTION")],
            sections: [.init("Actions", actions.map { ($0.name, $0.table.summary) })],
            examples: [.init("See the options of an action", "postrider \(name) \(actions[0].name) --help")]
        )
    }

    static var actionTables: [OptionTable] { actions.map(\.table) }

    static func run(_ arguments: [String]) async throws -> Int32 {
        let list = actions.map(\.name).joined(separator: ", ")
        guard let first = arguments.first else { throw table.error("ACTION is missing; there are \(list)") }
        guard !first.hasPrefix("-") else {
            _ = try table.parse(arguments)
            Console.say(table.helpText)
            return 0
        }
        guard let action = actions.first(where: { $0.name == first }) else {
            throw table.error("there is no action '\(first)'; there are \(list)")
        }
        return try await action.run(Array(arguments.dropFirst()))
    }
}

extension OperatorAction {
    /// Creates an action of a command of `postrider` that a relay carries out.
    init(
        _ command: String, _ name: String, _ summary: String, operands: [Operand] = [],
        options: [Option] = [], examples: [OptionTable.Example] = [],
        address: [Option] = ControlAddress.folderOptions,
        run: @escaping @Sendable (ParsedOptions, ControlClient) async throws -> Void
    ) {
        self.init(
            of: "postrider \(command)", name, summary, operands: operands, options: options,
            examples: examples, address: address,
            find: { ControlClient(address: try ControlAddress.find($0)) }, run: run)
    }

    /// Creates an action of a command of `postrider` that needs no relay.
    init(
        withoutServer command: String, _ name: String, _ summary: String, operands: [Operand],
        options: [Option], examples: [OptionTable.Example] = [],
        run: @escaping @Sendable (ParsedOptions) async throws -> Void
    ) {
        self.init(
            of: "postrider \(command)", withoutServer: name, summary, operands: operands, options: options,
            examples: examples, run: run)
    }
}
