import FoundationEssentials
import PostriderCommands
import PostriderOptions

/// `postrider-agent doctor`: looks at the machine of a device, and says what to do.
enum AgentDoctorCommand: Command {
    static let name = "doctor"
    static let summary = "Look at this machine as a device will use it, and say what is wrong and what to do."

    static func run(_ arguments: [String]) async throws -> Int32 {
        guard let options = try table.parseOrHelp(arguments) else { return 0 }
        let environment = ProcessInfo.processInfo.environment
        let file = AgentCheckCommand.file(options, environment)
        let settings = try AgentSettings(
            options: try AgentCommand.table.parse([]),
            environment: environment.merging([AgentSettings.fileVariable: file]) { $1 },
            readManifests: { _ in [] }, readFile: FileText.readIfThere)
        let findings = await Machine(unit: "postrider-agent.service", configuration: file)
            .findings(ofAgent: settings.agent)
        return try Finding.tell(findings, asJSON: options.isSet("json"))
    }

    static let table = OptionTable(
        command: "postrider-agent doctor",
        summary: """
            Look at this machine as a device will use it: open files, clock, state directory and its disk, \
            names, the way to the relay and the relay's certificate. Prints one line for each finding, \
            failures first, with what to do. Exit code 0: nothing is wrong; 4: warnings only; 1: a \
            failure; 2: the configuration is wrong ('postrider-agent check' says more). Changes nothing: \
            the disk's speed is measured with a file in the state directory whose name is removed at once. \
            Use it as the user who runs the agent.
            """,
        options: [AgentCheckCommand.fileOption, .flag("json", "Print the list of findings, as JSON.")],
        examples: [.init("Find out why a device is offline", "postrider-agent doctor --config agent.yaml")]
    )
}
