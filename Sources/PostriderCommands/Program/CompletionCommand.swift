package import PostriderOptions

/// `postrider completion`: the scripts with which shells complete command lines of a program.
package protocol CompletionCommand: Command {
    /// The program whose command lines are completed.
    static var program: Program { get }
}

extension CompletionCommand {
    package static var name: String { "completion" }
    package static var summary: String { "Print a script with which a shell completes command lines." }

    package static func run(_ arguments: [String]) async throws -> Int32 {
        guard let options = try table.parseOrHelp(arguments) else { return 0 }
        let name = options.operands[0]
        guard let shell = ShellCompletion.Shell(rawValue: name) else {
            throw table.error("there is no script for '\(name)'; there are \(shells)")
        }
        let tables = program.actions + program.commands.flatMap { [$0.table] + $0.actionTables }
        Console.say(String(ShellCompletion(program.table, tables).script(for: shell).dropLast()))
        return 0
    }

    private static var shells: String {
        ShellCompletion.Shell.allCases.map(\.rawValue).joined(separator: ", ")
    }

    package static var table: OptionTable {
        let program = program.name
        return OptionTable(
            command: "\(program) \(name)",
            summary: """
                Print a script for a shell (\(shells)) that completes commands, options and file names. The \
                Debian package installs all of them.
                """,
            operands: [.required("SHELL")],
            examples: [
                .init("In this bash", "source <(\(program) completion bash)"),
                .init(
                    "In every fish",
                    "\(program) completion fish > ~/.config/fish/completions/\(program).fish"),
            ]
        )
    }
}
