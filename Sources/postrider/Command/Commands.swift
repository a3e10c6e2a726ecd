import PostriderCommands
import PostriderOptions

/// The table of the commands of `postrider`.
enum Commands {
    /// All commands, in the order of the help.
    static let all: [any Command.Type] = [
        HandOverCommand.self,
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
        NodesCommand.self,
        BackupCommand.self,
        MoveCommand.self,
        CertificatesCommand.self,
        Completion.self,
        Manual.self,
    ]

    /// The program.
    static let program = Program(
        OptionTable(
            command: "postrider",
            summary: "A self-hosted push notification service that speaks APNs.",
            operands: [.optional("COMMAND")],
            options: [Program.versionOption],
            sections: [OptionTable.Section("Commands", all.map { ($0.name, $0.summary) })],
            examples: [
                .init("Start a relay without configuration and see what to do next", "postrider dev"),
                .init("See the options of a command", "postrider send --help"),
            ]), all)

    private enum Completion: CompletionCommand {
        static var program: Program { Commands.program }
    }

    private enum Manual: ManualCommand {
        static var program: Program { Commands.program }
        /// The agent is a program of its own, whose page has the name that the page of `postrider agent` would have.
        static var described: [any Command.Type] { all.filter { $0 != HandOverCommand.self } }
    }
}
