import FoundationEssentials
import PostriderCommands
import PostriderOptions

/// `postrider check`: says everything that is wrong with a configuration at once.
enum CheckCommand: Command {
    static let name = "check"
    static let summary =
        "Check a configuration and the files that it names, and say all that is wrong."

    static func run(_ arguments: [String]) async throws -> Int32 {
        guard let options = try table.parseOrHelp(arguments) else { return 0 }
        let environment = ProcessInfo.processInfo.environment.filter { !$0.value.isEmpty }
        let relay = options.string(Settings.fileOption.name)
        if let agent = options.string("agent") {
            guard relay == nil else {
                throw options.error("--agent and --config exclude each other: check one file after the other")
            }
            try HandOverCommand.handOver(["check", "--config", agent], options)
        }
        let path = relay ?? environment[Settings.fileVariable] ?? Settings.usualFile
        guard let text = try FileText.readIfThere(path) else { throw SettingTexts<Setting>.absent(path) }
        let mistakes = RelayCheck.mistakes(path, text, environment: environment, options: options)
        try MistakeSearch.tell(mistakes, of: path, asJSON: options.isSet("json"))
        return mistakes.isEmpty ? 0 : 2
    }

    static let table = OptionTable(
        command: "postrider check",
        summary: """
            Check the configuration of a relay or of an agent, and the files that it names: certificate, \
            key, trust files, token files, programs, manifests of apps. Prints one line for each mistake, \
            with file and line, and ends with exit code 2 if there is any. It reads the same variables of \
            the environment as the service, changes nothing, does not read the data directory, and can be \
            used while the service runs. Use it as the user who runs the service: other users may read \
            other files.
            """,
        options: [
            Settings.fileOption,
            .file(
                "agent",
                "Check this configuration of an agent, and its manifests, as 'postrider-agent check' does."),
            .flag("json", "Print the list of sentences, as JSON."),
        ],
        examples: [
            .init(
                "Check a relay's configuration before a restart", "postrider check --config postrider.yaml"),
            .init("Check an agent's, in CI", "postrider check --agent agent.yaml"),
        ]
    )
}
