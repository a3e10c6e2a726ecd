import FoundationEssentials
import PostriderNotifications
package import PostriderOptions

/// One action of an operator's command, such as `list` of `postrider keys list`.
package struct OperatorAction: Sendable {
    /// The name that the user types after the command.
    package let name: String
    /// The options of the action. The name of the table ends with the action's name.
    package let table: OptionTable
    /// Runs the action with its parsed options.
    private let run: @Sendable (ParsedOptions) async throws -> Int32

    /// Creates an action of `command`, such as `postrider keys`, that a server carries out, which `find` finds. All of
    /// these have `--json` and the options for the server's address.
    package init(
        of command: String, _ name: String, _ summary: String, operands: [Operand] = [],
        options: [Option] = [],
        examples: [OptionTable.Example] = [],
        address: [Option], find: @escaping @Sendable (ParsedOptions) throws -> ControlClient,
        run: @escaping @Sendable (ParsedOptions, ControlClient) async throws -> Void
    ) {
        self.name = name
        self.run = { options in
            let client = try find(options)
            try await run(options, client)
            return client.gaps.exitCode
        }
        table = OptionTable(
            command: "\(command) \(name)", summary: summary, operands: operands,
            options: options + address + [.flag("json", "Print the relay's answer, as JSON.")],
            examples: examples)
    }

    /// Creates an action of `command` that needs no server.
    package init(
        of command: String, withoutServer name: String, _ summary: String, operands: [Operand],
        options: [Option], examples: [OptionTable.Example] = [],
        run: @escaping @Sendable (ParsedOptions) async throws -> Void
    ) {
        self.name = name
        self.run = { options in
            try await run(options)
            return 0
        }
        table = OptionTable(
            command: "\(command) \(name)", summary: summary, operands: operands, options: options,
            examples: examples)
    }

    /// Parses the arguments, runs the action and returns its exit code.
    package func run(_ arguments: [String]) async throws -> Int32 {
        guard let options = try table.parseOrHelp(arguments) else { return 0 }
        return try await run(options)
    }
}

extension ParsedOptions {
    /// Checks that a name can stand in a path on the control socket, and returns it.
    package func checked(_ name: String) throws(UsageError) -> String {
        let isName = name.utf8.allSatisfy { $0.isLetterOrDigit || ".-_".utf8.contains($0) }
        if isName, !name.isEmpty { return name }
        throw error("'\(name)' is no name; write it with letters, digits, '.', '-' and '_'")
    }

    /// Prints what was done: the sentence, or with `--json` the relay's answer.
    package func say(_ answer: [UInt8], _ sentence: String) {
        Console.say(isSet("json") ? String(decoding: answer, as: UTF8.self) : sentence)
    }
}
