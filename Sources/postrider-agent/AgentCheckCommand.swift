import FoundationEssentials
import PostriderCommands
import PostriderOptions

/// `postrider-agent check`: says everything that is wrong with the configuration of an agent at once.
enum AgentCheckCommand: Command {
    static let name = "check"
    static let summary =
        "Check the agent's configuration and the files that it names, and say all that is wrong."

    /// The configuration that the package's unit uses.
    static let usualFile = "/etc/postrider/agent.yaml"

    static func run(_ arguments: [String]) async throws -> Int32 {
        guard let options = try table.parseOrHelp(arguments) else { return 0 }
        let environment = ProcessInfo.processInfo.environment.filter { !$0.value.isEmpty }
        let path = file(options, environment)
        guard let text = try FileText.readIfThere(path) else { throw SettingTexts<AgentSetting>.absent(path) }
        let mistakes = try AgentCheck.mistakes(path, text, environment: environment)
        try MistakeSearch.tell(mistakes, of: path, asJSON: options.isSet("json"))
        return mistakes.isEmpty ? 0 : 2
    }

    /// The configuration file that the options or the environment name.
    static func file(_ options: ParsedOptions, _ environment: [String: String]) -> String {
        options.string(fileOption.name) ?? environment[AgentSettings.fileVariable] ?? usualFile
    }

    static let fileOption = Option.file(
        "config", short: "c", "The configuration file; \(usualFile) if not given.")

    static let table = OptionTable(
        command: "postrider-agent check",
        summary: """
            Check the configuration of an agent, and the files that it names: trust files, programs, \
            manifests of apps. Prints one line for each mistake, with file and line, and ends with exit \
            code 2 if there is any. It reads the same variables of the environment as the agent, changes \
            nothing, does not read the state directory, and can be used while the agent runs. Use it as \
            the user who runs the agent: other users may read other files.
            """,
        options: [fileOption, .flag("json", "Print the list of sentences, as JSON.")],
        examples: [.init("Check a configuration, in CI", "postrider-agent check --config agent.yaml")]
    )
}
