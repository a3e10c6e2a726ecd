import Agent
import Foundation
import Notifications
import Options
import Transport

/// `postrider agent`: what every device runs.
enum AgentCommand: Command {
    static let name = "agent"
    static let summary = "Run the agent of a device: its link to the relay, and its apps."
    static let endsInGoodOrder = true

    static func endsInGoodOrder(_ arguments: [String]) -> Bool { action(arguments) == nil }

    /// The action that the arguments name; nil: they run the agent itself.
    private static func action(_ arguments: [String]) -> OperatorAction? {
        arguments.first.flatMap { name in AgentActions.all.first { $0.name == name } }
    }

    static func run(_ arguments: [String]) async throws -> Int32 {
        if let action = action(arguments) {
            try await action.run(Array(arguments.dropFirst()))
            return 0
        }
        if let first = arguments.first, !first.hasPrefix("-") {
            let names = AgentActions.all.map(\.name).joined(separator: ", ")
            throw table.error("there is no action '\(first)'; there are \(names)")
        }
        let options = try table.parse(arguments)
        if options.asksForHelp {
            Console.say(table.helpText)
            return 0
        }
        let environment = ProcessInfo.processInfo.environment
        let settings = try AgentSettings(
            options: options, environment: environment, readFile: FileText.readIfThere)
        let log = ServiceLog.log(settings.logLevel, isJournal: ServiceLog.isJournal)
        let requests = try Termination.requests()
        let agent = try await Agent.start(settings.agent, log: log)
        log.notice("ready: apps connect to \(settings.agent.socketPath)")
        if let socket = environment["NOTIFY_SOCKET"] { _ = Supervisor.notify("READY=1", socket: socket) }
        Task {
            for await _ in requests { await agent.stop() }
        }
        try await agent.untilEnd()
        log.notice("ended in good order")
        return 0
    }

    static let table = OptionTable(
        command: "postrider agent",
        summary: """
            Run the agent until SIGTERM or SIGINT. Every setting can stand in the configuration file, in the \
            environment, or here; what stands here wins over the environment, which wins over the file. The \
            first start needs an enrolment key: in a file, or in POSTRIDER_ENROLMENT_KEY.
            """,
        options: [AgentSettings.fileOption] + AgentSetting.allCases.map(\.option),
        sections: [
            .init(
                "Actions on the agent that runs ('postrider agent ACTION --help' says more)",
                AgentActions.all.map { ($0.name, $0.table.summary) }),
            .init(
                "Environment",
                [
                    (AgentSettings.fileVariable, "As --config."),
                    (AgentSettings.keyVariable, "The enrolment key itself."),
                ] + AgentSetting.allCases.map { (Setting.variable($0.rawValue), "As --\($0.rawValue).") }),
        ],
        examples: [
            .init("Run with a configuration file", "postrider agent --config agent.yaml"),
            .init(
                "Run with options only",
                "postrider agent --relay localhost:5223 --ca ca.pem --state state --socket agent.sock "
                    + "--enrolment-key-file enrolment.key"),
        ]
    )
}
