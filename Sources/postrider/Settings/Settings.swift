import FoundationEssentials
import PostriderOptions

/// What the user has set for the relay, and for the operator's commands.
struct Settings {
    /// What was written, wherever it was.
    let texts: SettingTexts<Setting>
    /// The configuration file that was read, nil if there was none.
    var file: String? { texts.file }
    /// Whether somebody said, here or in the environment, which relay is meant; otherwise it is what this machine has.
    let isChosen: Bool

    /// Where the configuration file is looked for when nobody names one.
    static let usualFile = "/etc/postrider/postrider.yaml"
    /// The option that names the configuration file.
    static let fileOption = Option.file(
        "config", short: "c", "The configuration file; \(usualFile) if not given, and if it is there."
    )
    /// The variable that names the configuration file.
    static let fileVariable = "POSTRIDER_CONFIG"

    /// Reads all places. An empty variable counts as one that is not there.
    ///
    /// - Parameter readFile: the text of a file, or nil where there is none.
    /// - Throws: ``CommandFailure`` for a file that is not there, is no YAML or has a setting that nobody knows.
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

    /// The text of a setting, nil where nobody has set it.
    subscript(_ setting: Setting) -> String? { texts[setting] }
}

extension Settings {
    /// What the user of this process has set.
    init(options: ParsedOptions) throws {
        try self.init(options: options, environment: ProcessInfo.processInfo.environment) { path in
            try FileText.readIfThere(path)
        }
    }
}
