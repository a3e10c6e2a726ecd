import FoundationEssentials
import PostriderAgent
import PostriderCommands
import PostriderNotifications
import PostriderOptions
import PostriderSystem
import PostriderTransport

/// `postrider-agent`: the agent that runs on every device.
enum AgentCommand: Command {
    static let name = "agent"
    static let summary = "Run the agent of a device: its link to the relay, and its apps."
    static let endsInGoodOrder = true
    static let reloads = true

    static func endsInGoodOrder(_ arguments: [String]) -> Bool { action(arguments) == nil }

    /// The action that the arguments name; nil if they run the agent itself.
    private static func action(_ arguments: [String]) -> OperatorAction? {
        arguments.first.flatMap { name in AgentActions.all.first { $0.name == name } }
    }

    static func run(_ arguments: [String]) async throws -> Int32 {
        if let action = action(arguments) {
            return try await action.run(Array(arguments.dropFirst()))
        }
        if let first = arguments.first, !first.hasPrefix("-") {
            let names = (AgentActions.all.map(\.name) + AgentProgram.commands.map { $0.name })
                .joined(separator: ", ")
            throw table.error("there is no action '\(first)'; there are \(names)")
        }
        guard let options = try table.parseOrHelp(arguments) else { return 0 }
        if options.isSet(Program.versionOption.name) {
            Console.say("postrider \(Program.version)")
            return 0
        }
        let environment = ProcessInfo.processInfo.environment
        let readSettings: @Sendable () throws -> AgentSettings = {
            try AgentSettings(options: options, environment: environment, readFile: FileText.readIfThere)
        }
        let settings = try readSettings()
        let service = try ServiceLog.start(LogThreshold(settings.logLevel), settings.logFormat)
        let log = service.log
        try DescriptorNeed.agent.check()
        let requests = try Termination.requests()
        let supervision = Supervision(environment, log: log)
        let (configuration, metricsArguments) = (settings.agent, settings.metrics)
        let start = PatientStart(log: log, isWaiting: { supervision.tell(Self.waitingState) }) {
            try await Agent.start(configuration, log: log)
        }
        Task {
            for await request in requests {
                let isReload = request != .end
                if isReload, !start.hasStarted {
                    log.notice("not reloaded: the agent has not started yet")
                    continue
                }
                if !isReload { start.giveUp() }
                guard let agent = try? await start.agent() else { continue }
                if isReload {
                    supervision.tell(Supervisor.reloadingState)
                    await reload(agent, settings, service, readSettings)
                    supervision.tell("READY=1")
                } else {
                    supervision.tell("STOPPING=1")
                    await agent.stop()
                }
            }
        }
        guard let agent = try await start.agent() else { return 0 }
        log.notice("ready: apps connect to \(configuration.socketPath), \(DescriptorNeed.roomNow)")
        supervision.tell("READY=1")
        let metrics = MetricsService.start(metricsArguments, of: agent, log: log)
        defer { metrics?.stop() }
        let watch = supervision.watch {
            await agent.answer()
            return true
        }
        defer { watch?.cancel() }
        do {
            try await agent.untilEnd()
        } catch {
            // The log has had the sentence since the agent failed.
            return 1
        }
        log.notice("ended in good order")
        return 0
    }

    /// Makes systemd wait for longer than its usual start timeout (sd_notify(3)), and tells people why.
    private static let waitingState =
        "EXTEND_TIMEOUT_USEC=30000000\nSTATUS=Waits for room on the disk of its state."

    /// Reads the files again that may have changed. If one is invalid, all settings stay as they were.
    private static func reload(
        _ agent: Agent, _ atStart: AgentSettings, _ service: ServiceLog,
        _ readSettings: () throws -> AgentSettings
    ) async {
        do {
            let settings = try readSettings()
            try ServiceLog.requirePlace(for: settings.logFormat)
            let found = await agent.reload(settings.agent)
            service.change(settings.logLevel, settings.logFormat)
            service.log.notice("reloaded: \(found)\(settings.texts.unheeded(since: atStart.texts))")
        } catch {
            service.log.error("not reloaded, everything stays as it was: \(error)")
        }
    }

    static let actionTables = AgentActions.all.map(\.table)

    static let table = OptionTable(
        command: "postrider-agent",
        summary: """
            Run the agent until SIGTERM or SIGINT. Every setting can stand in the configuration file, in the \
            environment, or here; what stands here wins over the environment, which wins over the file. The \
            first start needs an enrolment key: in a file, or in POSTRIDER_ENROLMENT_KEY. SIGHUP has it read \
            the manifests of the apps again, their users, and a few other settings (docs/operate/agent.md).
            """,
        options: [AgentSettings.fileOption] + AgentSetting.allCases.map(\.option) + [Program.versionOption],
        sections: [
            .init(
                "Actions on the running agent ('postrider-agent ACTION --help' says more)",
                AgentActions.all.map { ($0.name, $0.table.summary) }),
            .init("Further commands", AgentProgram.commands.map { ($0.name, $0.summary) }),
            .init(
                "Environment",
                [
                    (AgentSettings.fileVariable, "Like --config."),
                    (AgentSettings.keyVariable, "The enrolment key itself."),
                ] + AgentSetting.allCases.map { ($0.variable, "As --\($0.rawValue).") }),
        ],
        examples: [
            .init("Run with a configuration file", "postrider-agent --config agent.yaml"),
            .init(
                "Run with options only",
                "postrider-agent --relay localhost:5223 --ca ca.pem --state state --socket agent.sock "
                    + "--enrolment-key-file enrolment.key"),
        ]
    )
}
