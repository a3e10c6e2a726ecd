import PostriderOptions

/// One command of the program. A row of ``Commands/all``; its file is named after it.
protocol Command: SendableMetatype {
    /// What the user types, such as `enrolment-keys`.
    static var name: String { get }
    /// What it does, as one sentence for the list of commands.
    static var summary: String { get }
    /// Whether SIGTERM and SIGINT are kept from the process so that the command can end in good order when it hears
    /// of them (``Termination``, or a loop's `onSignal`). Otherwise they end the process at once.
    static var endsInGoodOrder: Bool { get }
    /// The same of a command line; only a command that can do several things tells them apart.
    static func endsInGoodOrder(_ arguments: [String]) -> Bool
    /// Whether SIGHUP is kept from the process too, and asks it to read its files again. Only for a command that
    /// ends in good order; otherwise SIGHUP ends it at once.
    static var reloads: Bool { get }
    /// Does it and answers the exit code.
    ///
    /// - Throws: `UsageError` where the user's words are wrong (exit code 2), ``CommandFailure``, or any error that
    ///   describes itself with one sentence (exit code 1).
    static func run(_ arguments: [String]) async throws -> Int32
}

extension Command {
    static var endsInGoodOrder: Bool { false }
    static func endsInGoodOrder(_ arguments: [String]) -> Bool { endsInGoodOrder }
    static var reloads: Bool { false }
}

/// A command could not do what it was asked for.
struct CommandFailure: Error, CustomStringConvertible, Equatable {
    /// One sentence: what was wrong, where, what to do.
    let sentence: String
    /// 1 where the world was in the way, 2 where the user's own words were wrong.
    let exitCode: Int32

    init(_ sentence: String, exitCode: Int32 = 1) {
        self.sentence = sentence
        self.exitCode = exitCode
    }

    var description: String { sentence }
}

/// The table of commands, and how one is chosen and its end is told.
enum Commands {
    /// In the order of the help.
    static let all: [any Command.Type] = [
        AgentCommand.self,
        CapturesCommand.self,
        ChannelsCommand.self,
        DevCommand.self,
        DeviceCommand.self,
        LoadCommand.self,
        SendCommand.self,
        ServeCommand.self,
        TokenCommand.self,
        StatusCommand.self,
        TraceCommand.self,
        KeysCommand.self,
        TopicsCommand.self,
        EnrolmentKeysCommand.self,
        DevicesCommand.self,
        BackupCommand.self,
    ]

    /// The version of the program, and the only place where it stands; `RELEASING.md` says when it changes. `--version`
    /// prints it, devices tell it to their relay, and the Debian package takes it from there.
    static let version = "0.1.0"

    /// The command of this name.
    static func named(_ name: String) -> (any Command.Type)? { all.first { $0.name == name } }

    /// Runs the command that a command line names and answers the exit code. Errors become one line on stderr.
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
        let options = try table.parse(arguments)
        if options.asksForHelp {
            Console.say(table.helpText)
            return 0
        }
        guard options.isSet("version") else {
            throw UsageError("postrider: COMMAND is missing; 'postrider --help' lists the commands")
        }
        Console.say("postrider \(version)")
        return 0
    }

    private static let table = OptionTable(
        command: "postrider",
        summary: "A self-hosted push notification service that speaks APNs.",
        operands: [.optional("COMMAND")],
        options: [.flag("version", "Print the version.")],
        sections: [OptionTable.Section("Commands", all.map { ($0.name, $0.summary) })],
        examples: [
            .init("Start a relay that needs no configuration, and see what to do next", "postrider dev"),
            .init("See what a command can do", "postrider send --help"),
        ]
    )
}
