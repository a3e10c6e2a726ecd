import PostriderOptions

/// A command of the program, listed in ``Commands/all``. Its file has the same name.
protocol Command: SendableMetatype {
    /// The name that the user types, such as `enrolment-keys`.
    static var name: String { get }
    /// One sentence for the list of commands that says what the command does.
    static var summary: String { get }
    /// The options of the command. Its help, its manual page and the completion of shells are made from them.
    static var table: OptionTable { get }
    /// The options of each of its actions, such as `list` of `postrider keys list`; empty if it has none.
    static var actionTables: [OptionTable] { get }
    /// Whether SIGTERM and SIGINT are blocked so that the command can end in order when it receives them
    /// (``Termination``, or a loop's `onSignal`). Otherwise they end the process at once.
    static var endsInGoodOrder: Bool { get }
    /// Whether the command with these arguments ends in order. The default is the property above; a command with
    /// several actions can distinguish them.
    static func endsInGoodOrder(_ arguments: [String]) -> Bool
    /// Whether SIGHUP is blocked, too, and makes the command read its files again. This is only for commands that end
    /// in order; otherwise SIGHUP ends the process at once.
    static var reloads: Bool { get }
    /// Runs the command and returns the exit code.
    ///
    /// - Throws: `UsageError` if the arguments are wrong (exit code 2), ``CommandFailure``, or any error that
    ///   describes itself with one sentence (exit code 1).
    static func run(_ arguments: [String]) async throws -> Int32
}

extension Command {
    static var actionTables: [OptionTable] { [] }
    static var endsInGoodOrder: Bool { false }
    static func endsInGoodOrder(_ arguments: [String]) -> Bool { endsInGoodOrder }
    static var reloads: Bool { false }
}

extension OptionTable {
    /// Parses the arguments of a command. If they ask for help, prints it and returns nil: the command has succeeded.
    func parseOrHelp(_ arguments: [String]) throws(UsageError) -> ParsedOptions? {
        let options = try parse(arguments)
        guard options.asksForHelp else { return options }
        Console.say(helpText)
        return nil
    }
}

/// The error of a command that could not do what was asked.
struct CommandFailure: Error, CustomStringConvertible, Equatable {
    /// One sentence: what is wrong, where, and what to do.
    let sentence: String
    /// 1 for a runtime error, 2 for a mistake in the user's arguments or files.
    let exitCode: Int32

    init(_ sentence: String, exitCode: Int32 = 1) {
        self.sentence = sentence
        self.exitCode = exitCode
    }

    var description: String { sentence }
}

/// The table of commands. It selects the command to run, and reports its errors.
enum Commands {
    /// All commands, in the order of the help.
    static let all: [any Command.Type] = [
        AgentCommand.self,
        CapturesCommand.self,
        ChannelsCommand.self,
        DevCommand.self,
        DeviceCommand.self,
        LoadCommand.self,
        SendCommand.self,
        ReplayCommand.self,
        ServeCommand.self,
        TokenCommand.self,
        StatusCommand.self,
        TraceCommand.self,
        EvidenceCommand.self,
        ConsoleCommand.self,
        AuditCommand.self,
        CheckCommand.self,
        DoctorCommand.self,
        KeysCommand.self,
        TopicsCommand.self,
        EnrolmentKeysCommand.self,
        SendTokensCommand.self,
        DevicesCommand.self,
        BackupCommand.self,
        MoveCommand.self,
        CertificatesCommand.self,
        CompletionCommand.self,
        ManualCommand.self,
    ]

    /// The version of the program. It is defined only here; `RELEASING.md` says when it changes. `--version` prints
    /// it, devices report it to their relay, and the Debian package takes it from here.
    static let version = "0.1.0"

    /// The command with this name; nil if there is none.
    static func named(_ name: String) -> (any Command.Type)? { all.first { $0.name == name } }

    /// Runs the command that a command line names and returns the exit code. An error becomes one line on stderr.
    static func run(_ arguments: [String]) async -> Int32 {
        do {
            let code = try await choose(arguments)
            return code == 0 && Console.isIncomplete ? 1 : code
        } catch let error as UsageError {
            Console.complain(error.description)
            return 2
        } catch let failure as CommandFailure {
            Console.complain("postrider: \(failure.sentence)")
            return failure.exitCode
        } catch {
            Console.complain("postrider: \(error)")
            return 1
        }
    }

    private static func choose(_ arguments: [String]) async throws -> Int32 {
        if let name = arguments.first, !name.hasPrefix("-") {
            guard let command = named(name) else {
                throw UsageError(
                    "postrider: there is no command '\(name)'; 'postrider --help' lists the commands")
            }
            return try await command.run(Array(arguments.dropFirst()))
        }
        guard let options = try table.parseOrHelp(arguments) else { return 0 }
        guard options.isSet("version") else {
            throw UsageError("postrider: COMMAND is missing; 'postrider --help' lists the commands")
        }
        Console.say("postrider \(version)")
        return 0
    }

    /// The options of the program without a command.
    static let table = OptionTable(
        command: "postrider",
        summary: "A self-hosted push notification service that speaks APNs.",
        operands: [.optional("COMMAND")],
        options: [.flag("version", "Print the version.")],
        sections: [OptionTable.Section("Commands", all.map { ($0.name, $0.summary) })],
        examples: [
            .init("Start a relay without configuration and see what to do next", "postrider dev"),
            .init("See the options of a command", "postrider send --help"),
        ]
    )
}
