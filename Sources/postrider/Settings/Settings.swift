import FoundationEssentials
import PostriderCommands
import PostriderOptions

/// The settings of the relay and of the operator's commands.
struct Settings {
    /// The texts of the settings, from all sources.
    let texts: SettingTexts<Setting>
    /// The configuration file that was read; nil if there was none.
    var file: String? { texts.file }
    /// Whether the options or the environment select a relay. Otherwise it is the one that this machine has.
    let isChosen: Bool

    /// The default configuration file.
    static let usualFile = "/etc/postrider/postrider.yaml"
    /// The option that names the configuration file.
    static let fileOption = Option.file(
        "config", short: "c", "The configuration file; \(usualFile) if not given, and if it is there."
    )
    /// The variable that names the configuration file.
    static let fileVariable = EnvironmentNames.relayFile

    /// Reads all sources. An empty variable counts as not set.
    ///
    /// - Parameter readFile: returns the text of a file; nil if it does not exist.
    /// - Throws: ``CommandFailure`` for a file that is missing, is not YAML or has an unknown setting.
    init(
        options: ParsedOptions, environment: [String: String], readFile: (String) throws -> String?
    ) throws {
        let environment = environment.filter { !$0.value.isEmpty }
        try EnvironmentNames.refuseMisspelt(in: environment)
        let named = options.string(Self.fileOption.name) ?? environment[Self.fileVariable]
        let path = named ?? Self.usualFile
        let text = try readFile(path)
        guard text != nil || named == nil else { throw SettingTexts<Setting>.absent(path) }
        isChosen =
            named != nil
            || [Setting.controlAddress, .dataDirectory].contains { environment[$0.variable] != nil }
        texts = try SettingTexts(
            options: options, environment: environment, file: text.map { (path, $0) })
    }

    /// The text of a setting; nil if it is not set.
    subscript(_ setting: Setting) -> String? { texts[setting] }
}

extension Settings {
    /// Reads the settings of the user of this process.
    init(options: ParsedOptions) throws {
        try self.init(options: options, environment: ProcessInfo.processInfo.environment) { path in
            try FileText.readIfThere(path)
        }
    }
}
