import FoundationEssentials
import PostriderAgent
import PostriderCommands
import PostriderCourier
import PostriderDBus
import PostriderNotifications
import PostriderOptions
import PostriderSystem
import PostriderTransport
import PostriderYAML

/// The owner's decision for every app that asks whether it may notify.
enum NotificationsAnswer: String, CaseIterable {
    case ask, allow, deny

    /// The status that such an app gets.
    var status: AuthorizationStatus {
        switch self {
        case .ask: .notDetermined
        case .allow: .authorized
        case .deny: .denied
        }
    }
}

/// When the agent saves power, as the owner sets it.
enum PowerSavingChoice: String, CaseIterable {
    case always, never, auto

    /// The setting as the agent's type.
    var powerSaving: PowerSaving {
        switch self {
        case .always: .always
        case .never: .never
        case .auto: .whenOnBattery
        }
    }
}

/// The settings of the agent.
struct AgentSettings {
    let agent: AgentConfiguration
    /// The texts of the settings, from all sources.
    let texts: SettingTexts<AgentSetting>
    let metrics: MetricsArguments?
    let logLevel: Log.Level
    let logFormat: LogFormat

    /// The socket on which the agent listens for apps by default.
    static let usualSocket = "/run/postrider-agent/agent.sock"
    /// The option that names the configuration file.
    static let fileOption = Option.file(
        "config", short: "c", "The configuration file; it may also declare apps.")
    /// The variable that names the configuration file.
    static let fileVariable = EnvironmentNames.agentFile
    /// The variable that holds the enrolment key.
    static let keyVariable = EnvironmentNames.enrolmentKey

    /// Reads the settings from all sources.
    ///
    /// - Parameters:
    ///   - readSecret: returns the text of a file that only its owner can read.
    ///   - readFile: returns the text of a file; nil if it does not exist.
    /// - Throws: ``CommandFailure`` or `UsageError` at the first mistake.
    init(
        options: ParsedOptions, environment: [String: String],
        readManifests: (String) throws -> [AppManifest] = AppManifests.read,
        readSecret: (String) throws -> String = FileText.readSecret,
        readFile: (String) throws -> String?
    ) throws {
        // As in the relay, an empty variable of ours counts as not set.
        let environment = environment.filter { !$0.value.isEmpty || !$0.key.hasPrefix("POSTRIDER_") }
        try EnvironmentNames.refuseMisspelt(in: environment)
        let (texts, apps) = try Self.read(options, environment, readFile)
        var agent = AgentConfiguration(
            relays: try Self.relays(texts),
            stateDirectory: try texts.required(.state),
            socketPath: try Self.socketPath(texts) ?? Self.usualSocket,
            name: try Self.name(texts) ?? ProcessInfo.processInfo.hostName,
            version: "postrider/\(Program.version)"
        )
        agent.tags = try Self.tags(texts)
        agent.useSystemBus(in: environment)
        agent.trustFile = texts[.ca]
        agent.serverName = texts[.serverName]
        agent.proxy = try Self.proxy(texts, readSecret)
        agent.enrolmentKey = environment[Self.keyVariable]
        let isKeyOption = options.string(AgentSetting.enrolmentKeyFile.rawValue) != nil
        if let path = texts[.enrolmentKeyFile], isKeyOption || agent.enrolmentKey == nil {
            Self.takeKey(from: path, readFile, for: &agent)
        }
        let keepalive = Limits.keepaliveSeconds
        if let seconds = try texts.number(.keepaliveSeconds, in: keepalive.least...keepalive.most) {
            agent.keepaliveSeconds = UInt32(seconds)
        }
        let answer = try texts.choice(.notifications, of: NotificationsAnswer.self)
        agent.authorization = (answer ?? .ask).status
        agent.apps = apps
        let attempts = Limits.deliveryAttempts
        if let count = try texts.number(.deliveryAttempts, in: attempts.least...attempts.most) {
            agent.deliveryAttempts = count
        }
        agent.sessionBus = try Self.sessionBus(texts, environment)
        agent.isDistributor = try texts.boolean(.unifiedPush) ?? false
        guard !agent.isDistributor || agent.sessionBus != nil else {
            throw texts.mistake(
                .unifiedPush,
                "needs a session bus: run the agent in the user's session, or name the bus in session-bus")
        }
        agent.reports = try texts.boolean(.reports) ?? true
        agent.onClone = try texts.choice(.onClone, of: ClonePolicy.self) ?? .wait
        agent.powerSaving = (try texts.choice(.savePower, of: PowerSavingChoice.self) ?? .auto).powerSaving
        let user = try texts.value(.keyboardUser, form: Self.userForm, UserAccount.identifier(of:))
        if let user { agent.keyboardUser = user }
        if let directory = texts[.appsDirectory] { agent.manifests = try readManifests(directory) }
        self.agent = agent
        self.texts = texts
        metrics = try Self.metrics(texts)
        logLevel = (try texts.choice(.logLevel, of: LogLevel.self) ?? .info).level
        logFormat = try texts.choice(.logFormat, of: LogFormat.self) ?? .text
    }

    private static func relays(_ texts: SettingTexts<AgentSetting>) throws -> [Destination] {
        let form =
            "a host and a port from 1 to 65535 such as relay.example.org:5223, or at most "
            + "\(Limits.relayAddresses) different ones with commas between"
        let relays = try texts.list(.relay, form: form) { words in
            let relays = words.compactMap { try? Destination($0) }.filter { $0.host != nil }
            let isGood =
                relays.count == words.count && 1...Limits.relayAddresses ~= relays.count
                && Set(relays.map { "\($0)".lowercased() }).count == relays.count
            return isGood ? relays : nil
        }
        guard let relays else { throw texts.missing(.relay) }
        return relays
    }

    /// Reads the enrolment key from its file. An empty or unreadable file is no error yet, because only a device that
    /// still has to enrol needs the key, and only the agent's state tells whether this one has.
    private static func takeKey(
        from path: String, _ readFile: (String) throws -> String?, for agent: inout AgentConfiguration
    ) {
        agent.enrolmentKey = nil
        do {
            let text = try readFile(path)?.trimmed ?? ""
            if text.isEmpty { agent.absentKeyFile = path } else { agent.enrolmentKey = text }
        } catch {
            agent.unreadableKeyFile = path
        }
    }

    private static func socketPath(_ texts: SettingTexts<AgentSetting>) throws -> String? {
        try texts.value(.socket, form: "the path of a socket, 107 bytes at most") { path in
            (try? SocketAddress(unixPath: path))?.unixPath
        }
    }

    private static func name(_ texts: SettingTexts<AgentSetting>) throws -> String? {
        try texts.value(.deviceName, form: "a name, \(Limits.courierTextBytes) bytes at most") { name in
            name.utf8.count <= Limits.courierTextBytes ? name : nil
        }
    }

    private static func tags(_ texts: SettingTexts<AgentSetting>) throws -> [String] {
        let most = Limits.tagsPerDevice
        let form = "at most \(most) tags with commas between, each \(DeviceTag.rule)"
        return try texts.list(.deviceTags, form: form) { words in
            words.allSatisfy { DeviceTag($0) != nil } && words.count <= most ? words : nil
        } ?? []
    }

    /// Where the agent serves its metrics; nil for nowhere. Other machines cannot reach the address.
    private static func metrics(_ texts: SettingTexts<AgentSetting>) throws -> MetricsArguments? {
        guard let text = texts[.metricsAddress], text != "off" else { return nil }
        let form = "off, an address of this machine alone such as 127.0.0.1:2199, or unix: and a path"
        let address = try texts.value(.metricsAddress, form: form) { text in
            (try? SocketAddress(text)).flatMap { $0.isOfThisMachine ? $0 : nil }
        }
        return address.map { MetricsArguments(address: $0, tokens: MetricsTokens(), certificate: nil) }
    }

    private static let userForm = "a user of this device, by name or number"

    /// The address of the desktop's session bus; nil if there is none.
    private static func sessionBus(
        _ texts: SettingTexts<AgentSetting>, _ environment: [String: String]
    ) throws -> BusAddress? {
        switch texts[.sessionBus] {
        case "off": return nil
        case nil, "auto": return BusAddress.session(in: environment)
        case .some:
            let form = "auto, off or an address such as unix:path=/run/user/1000/bus"
            return try texts.value(.sessionBus, form: form) { BusAddress($0) }
        }
    }

    /// Reads the settings from all sources, and the list `apps` of topics and users from the file.
    private static func read(
        _ options: ParsedOptions, _ environment: [String: String], _ readFile: (String) throws -> String?
    ) throws -> (texts: SettingTexts<AgentSetting>, apps: [String: UInt32]) {
        let path = options.string(fileOption.name) ?? environment[fileVariable]
        let file: (path: String, text: String)? = try path.map { path in
            guard let text = try readFile(path) else { throw SettingTexts<AgentSetting>.absent(path) }
            return (path, text)
        }
        var apps: [String: UInt32] = [:]
        let texts = try SettingTexts<AgentSetting>(options: options, environment: environment, file: file) {
            reader throws(YAMLError) in
            for app in try reader.mappings("apps") ?? [] {
                let topic = try app.required("topic", app.string)
                let user = try app.required("user", app.string)
                guard Topic(topic) != nil else { throw app.error("topic", "must be a bundle identifier") }
                guard let identifier = UserAccount.identifier(of: user) else {
                    throw app.error("user", "must be \(userForm), not '\(user)'")
                }
                guard apps.updateValue(identifier, forKey: topic) == nil else {
                    throw app.error("topic", "is declared twice")
                }
            }
        }
        return (texts, apps)
    }
}
