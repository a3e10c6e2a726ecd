import PostriderOptions

/// `postrider completion`: the scripts with which shells complete command lines of this program.
enum CompletionCommand: Command {
    static let name = "completion"
    static let summary = "Print a script with which a shell completes command lines."

    static func run(_ arguments: [String]) async throws -> Int32 {
        guard let options = try table.parseOrHelp(arguments) else { return 0 }
        let name = options.operands[0]
        guard let shell = ShellCompletion.Shell(rawValue: name) else {
            throw table.error("there is no script for '\(name)'; there are \(shells)")
        }
        let tables = Commands.all.flatMap { [$0.table] + $0.actionTables }
        Console.say(String(ShellCompletion(Commands.table, tables).script(for: shell).dropLast()))
        return 0
    }

    private static let shells = ShellCompletion.Shell.allCases.map(\.rawValue).joined(separator: ", ")

    static let table = OptionTable(
        command: "postrider completion",
        summary: """
            Print a script for a shell (\(shells)) that completes commands, options and file names. The \
            Debian package installs all of them.
            """,
        operands: [.required("SHELL")],
        examples: [
            .init("In this bash", "source <(postrider completion bash)"),
            .init(
                "In every fish",
                "postrider completion fish > ~/.config/fish/completions/postrider.fish"),
        ]
    )
}
