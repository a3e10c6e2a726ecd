import FoundationEssentials
import PostriderNotifications
import PostriderOptions

/// One action of an operator's command, such as `list` of `postrider keys list`.
struct OperatorAction: Sendable {
    /// The name that the user types after the command.
    let name: String
    /// The options of the action. The name of the table ends with the action's name.
    let table: OptionTable
    /// Runs the action with its parsed options.
    private let run: @Sendable (ParsedOptions) async throws -> Void

    /// Creates an action of `command` that a server carries out, which `find` finds. All of these have `--json` and the
    /// options for the server's address.
    init(
        _ command: String, _ name: String, _ summary: String, operands: [Operand] = [],
        options: [Option] = [],
        examples: [OptionTable.Example] = [],
        address: [Option] = ControlAddress.folderOptions,
        find: @escaping @Sendable (ParsedOptions) throws -> ControlClient = {
            ControlClient(address: try ControlAddress.find($0))
        },
        run: @escaping @Sendable (ParsedOptions, ControlClient) async throws -> Void
    ) {
        self.name = name
        self.run = { try await run($0, find($0)) }
        table = OptionTable(
            command: "postrider \(command) \(name)", summary: summary, operands: operands,
            options: options + address + [.flag("json", "Print the relay's answer, as JSON.")],
            examples: examples)
    }

    /// Creates an action of `command` that needs no server.
    init(
        withoutServer command: String, _ name: String, _ summary: String, operands: [Operand],
        options: [Option], examples: [OptionTable.Example] = [],
        run: @escaping @Sendable (ParsedOptions) async throws -> Void
    ) {
        self.name = name
        self.run = run
        table = OptionTable(
            command: "postrider \(command) \(name)", summary: summary, operands: operands, options: options,
            examples: examples)
    }

    /// Parses the arguments and runs the action.
    func run(_ arguments: [String]) async throws {
        if let options = try table.parseOrHelp(arguments) {
            try await run(options)
        }
    }
}

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
        try await action.run(Array(arguments.dropFirst()))
        return 0
    }
}

extension ParsedOptions {
    /// Checks that a name can stand in a path on the control socket, and returns it.
    func checked(_ name: String) throws(UsageError) -> String {
        let isName = name.utf8.allSatisfy { $0.isLetterOrDigit || ".-_".utf8.contains($0) }
        if isName, !name.isEmpty { return name }
        throw error("'\(name)' is no name; write it with letters, digits, '.', '-' and '_'")
    }

    /// Prints what was done: the sentence, or with `--json` the relay's answer.
    func say(_ answer: [UInt8], _ sentence: String) {
        Console.say(isSet("json") ? String(decoding: answer, as: UTF8.self) : sentence)
    }
}
