import FoundationEssentials
import Glibc
import PostriderCommands
import PostriderNotifications
import PostriderOptions
import PostriderPostgres
import PostriderRelay
import PostriderTransport

/// `postrider dev`: a relay that needs no configuration.
enum DevCommand: Command {
    static let name = "dev"
    static let summary = "Run a relay without configuration, and print how to push to it."
    static let endsInGoodOrder = true
    static let reloads = true

    static func run(_ arguments: [String]) async throws -> Int32 {
        guard let options = try table.parseOrHelp(arguments) else { return 0 }
        let topics = try topics(options)
        let ports = try ports(options)
        let level = try options.choice("log-level", of: LogLevel.self)?.level ?? .warning
        let format = try options.choice("log-format", of: LogFormat.self) ?? .text
        if let nodes = try DevNodes(options, topics, ports) {
            let log = try ServiceLog.start(LogThreshold(level), format).log
            return try await nodes.run(options, log: log, now: Self.now)
        }
        let folder = try DevFolder(options)
        let place = try DevPlace(options)
        let bench = try DevBench.make(options)
        let callbacks = try CallbackArguments(options)
        let spans = try SpanArguments(options)
        let store = try store(options, folder)
        try ParentOption.follow(options)
        defer { if options.isSet("temporary") { folder.remove() } }
        let changes = try folder.prepare(topics: topics, names: place.names, now: Self.now)
        let host = place.address
        var configuration = RelayConfiguration(
            providerAddresses: [try SocketAddress(host: host, port: ports.provider)],
            deviceAddresses: [try SocketAddress(host: host, port: ports.device)],
            controlAddress: try SocketAddress(unixPath: folder.controlSocket),
            certificateChainFile: folder.certificateFile,
            privateKeyFile: folder.privateKeyFile,
            shards: Settings.usualShards,
            user: geteuid()
        )
        configuration.providerTrustFile = folder.authorityFile
        configuration.developmentProviderAddresses = [try SocketAddress(host: host, port: ports.development)]
        configuration.fidelity = try fidelity(options)
        configuration.console = try DevConsole.make(options, host: host)
        configuration.web = try DevWeb.make(options, place)
        configuration.bench = bench
        configuration.expiredCertificateFile = folder.expiredCertificateFile
        configuration.lookupKeys = try keys(.lookupKeys, options)
        configuration.lookupAllKeys = try keys(.lookupAllKeys, options)
        configuration.quotas = try quotas(options)
        try configuration.readBounds {
            try options.integer($0.rawValue, in: $1)
        } _: {
            try word(options, $0, $1)
        }
        configuration.loadBalancers = try loadBalancers(options)
        let log = try ServiceLog.start(LogThreshold(level), format).log
        let served = try await ServedRelay.start(
            configuration, store: store, metrics: try metrics(options),
            callbacks: callbacks, spans: spans, changes: changes, log: log)
        let captures = try DevBench.serve(bench, options, names: place.names)
        defer { captures?.stop() }
        log.notice("ready: \(DescriptorNeed.roomNow)")
        var values = try values(of: folder, served.relay, topics, place)
        values.metricsAddress = served.metrics?.address?.description
        values.capturesAddress = captures?.address?.description
        values.consoleLink = try DevConsole.makeLink(
            configuration.console, served.relay, host: place.host, at: Self.now)
        try values.write(to: folder)
        let isScenario = options.isSet("scenario")
        if isScenario { bench?.beginRules(at: Self.now) }
        try print(values, options, folder)
        let code = await served.untilEnd {
            try await served.relay.reload(configuration)
            return ReloadResult(
                sentence: "new connections see the certificate in \(configuration.certificateChainFile)")
        }
        if isScenario { DevBench.tellMatches(of: bench) }
        DevBench.tellUnmatchedRules(of: bench, log)
        return code
    }

    /// Says how to push to the relay, as JSON or as a text.
    private static func print(_ values: DevValues, _ options: ParsedOptions, _ folder: DevFolder) throws {
        let output = try Console.makeOutput()
        if options.isSet("json") {
            output.add(try Console.json(values))
        } else {
            output.add(
                values.guide(
                    program: CommandLine.arguments[0],
                    folder: options.isSet("temporary") ? folder.path : options.string("directory")))
        }
    }

    private static var now: Moment { Moment(milliseconds: Int64(Date().timeIntervalSince1970 * 1000)) }

    private static func topics(_ options: ParsedOptions) throws -> [Topic] {
        let texts = options.list("topic")
        return try (texts.isEmpty ? ["com.example.app"] : texts).map { text in
            guard let topic = Topic(text) else {
                throw options.error(
                    "--topic must be a bundle identifier such as com.example.app, not '\(text)'")
            }
            return topic
        }
    }

    private static func loadBalancers(_ options: ParsedOptions) throws -> NetworkList {
        try options.string(Setting.loadBalancers.rawValue).map { try NetworkList($0) } ?? NetworkList()
    }

    /// Where the relay has its store. For trying things out, a database may be one that does not sync.
    private static func store(_ options: ParsedOptions, _ folder: DevFolder) throws -> StorePlace {
        var place = StorePlace(dataDirectory: folder.dataDirectory, acceptsLosses: true)
        guard let text = options.string(Setting.store.rawValue) else { return place }
        guard let address = DatabaseAddress(text) else {
            throw options.error("--\(Setting.store.rawValue) \(DatabaseAddress.form)")
        }
        place.database = address
        return place
    }

    /// The ports on which the relay listens.
    private static func ports(_ options: ParsedOptions) throws -> DevFolder.Ports {
        var taken: [UInt16: String] = [:]
        func port(_ name: String, _ usual: UInt16) throws -> UInt16 {
            let port = try options.integer(name, in: 0...65_535).map { UInt16($0) } ?? usual
            if port != 0, let other = taken.updateValue(name, forKey: port) {
                throw options.error("--\(other) and --\(name) are both \(port); choose another for one")
            }
            return port
        }
        let provider = try port("provider-port", 2197)
        // If the user wants any free port for one environment, the other gets any free port, too.
        let next = (1..<65_535).contains(provider) ? provider + 1 : 0
        return DevFolder.Ports(
            provider: provider, development: try port("development-port", next),
            device: try port("device-port", 5223))
    }

    /// How closely the relay follows APNs: in everything with --apple, except where another option says otherwise.
    static func fidelity(_ options: ParsedOptions) throws -> APNsCompatibility {
        var fidelity = options.isSet("apple") ? APNsCompatibility.apple : APNsCompatibility()
        try fidelity.read { setting, words in
            try word(options, setting, words)
        }
        return fidelity
    }

    private static func keys(_ setting: Setting, _ options: ParsedOptions) throws -> Set<String> {
        guard let text = options.string(setting.rawValue) else { return [] }
        if let keys = Settings.keys(text.split(separator: ",").map { $0.trimmed }) { return keys }
        throw options.error("--\(setting.rawValue) must be \(Settings.keysForm), not '\(text)'")
    }

    private static func quotas(_ options: ParsedOptions) throws -> [Quota] {
        guard let text = options.string(Setting.quotas.rawValue) else { return [] }
        if let quotas = Settings.quotas(text.split(separator: ",").map { $0.trimmed }) { return quotas }
        throw options.error("--\(Setting.quotas.rawValue) must be \(Settings.quotasForm), not '\(text)'")
    }

    /// Where metrics are served; nil unless the user asks for them.
    private static func metrics(_ options: ParsedOptions) throws -> MetricsArguments? {
        guard let text = options.string(Setting.metricsAddress.rawValue), text != "off" else { return nil }
        guard let address = try? SocketAddress(text), address.isOfThisMachine else {
            throw options.error(
                "--metrics-address must be off, or an address of this machine alone such as "
                    + "\(Settings.usualMetricsAddress), not '\(text)'")
        }
        return MetricsArguments(address: address, tokens: MetricsTokens(), certificate: nil)
    }

    private static func word(_ options: ParsedOptions, _ setting: Setting, _ words: [String]) throws
        -> String?
    {
        guard let word = options.string(setting.rawValue) else { return nil }
        guard words.contains(word) else {
            let known = words.joined(separator: ", ")
            throw options.error("--\(setting.rawValue) must be one of \(known), not '\(word)'")
        }
        return word
    }

    private static func values(
        of folder: DevFolder, _ relay: Relay, _ topics: [Topic], _ place: DevPlace
    ) throws -> DevValues {
        guard let providerPort = relay.providerAddresses.first?.port,
            let devicePort = relay.deviceAddresses.first?.port,
            let developmentPort = relay.developmentProviderAddresses.first?.port
        else {
            preconditionFailure("an address of the Internet has a port")
        }
        let ports = DevFolder.Ports(
            provider: providerPort, development: developmentPort, device: devicePort)
        var values = try folder.values(ports, topics, place, controlSocket: folder.controlSocket)
        values.webURL = try relay.webAddresses.first?.port.map {
            DevWeb.url($0, place, enrolmentKey: try folder.enrolmentKey())
        }
        return values
    }

    /// The settings that are options here too, besides those of the APNs compatibility and of bounds.
    private static let furtherSettings =
        [Setting.lookupKeys, .lookupAllKeys, .quotas] + CallbackArguments.settings + SpanArguments.settings

    static let table = OptionTable(
        command: "postrider dev",
        summary: """
            Run a relay on this machine for trying things out. A certificate authority, the relay's \
            certificate, a provider's key and certificate, a topic and an enrolment key are made in a folder \
            where they are missing, and stay there. Prints what to copy when it is ready.
            """,
        options: [
            .file(
                "directory", short: "d", as: "FOLDER",
                "The folder of all files of the relay; \(DevFolder.usualPath) if not given."),
            .flag(
                "temporary", "Use a new folder in place of --directory, which is removed when the relay ends."
            ),
            ParentOption.option, DevNodes.option,
            .list(
                "topic", short: "t", "TOPIC",
                "A topic that devices can register; com.example.app if not given."),
            .value("provider-port", "PORT", "The port for providers; 2197 if not given. 0: any free one."),
            .value(
                "development-port", "PORT",
                "The port for providers of the development environment; the next after the other if not "
                    + "given."
            ),
            .value("device-port", "PORT", "The port for devices; 5223 if not given. 0: any free one."),
            .value(
                "metrics-address", "ADDRESS|off",
                "The address of /metrics, /livez and /readyz, such as \(Settings.usualMetricsAddress); "
                    + "off if not given."),
        ] + DevPlace.options + DevConsole.options + DevWeb.options + DevBench.options + [
            .flag(
                "apple", "Behave as Apple does in everything, even where that is less useful in production.")
        ] + (Setting.fidelity + RelayConfiguration.bounds + furtherSettings).map(\.option) + [
            .value("log-level", "LEVEL", "error, warning (if not given), notice, info or debug."),
            Setting.logFormat.option, Setting.store.option, Setting.loadBalancers.option,
            .flag("json", "Print one line of JSON with all values when the relay is ready."),
        ],
        examples: [
            .init("Start a relay and read what to do next", "postrider dev"),
            .init(
                "A relay for a test: free ports and one line of JSON for the test",
                "postrider dev --temporary --parent $$ --json --provider-port 0 --device-port 0"),
            .init("A cluster of three relays", "postrider dev --nodes 3"),
            .init("A stand-in for Apple, as exact as possible", "postrider dev --apple"),
            .init(
                "A relay that accepts any device token and follows rules",
                "postrider dev --any-token --rules bad-day.yaml"),
            .init(
                "A relay that has a bad day, from now on",
                "postrider dev --any-token --scenario deploy/scenarios/outage.yaml"),
            .init(
                "A relay whose captures and rules any HTTP client can use",
                "postrider dev --any-token --captures-address 127.0.0.1:2196"),
            .init(
                "A relay that passes pushes on to another one, captures them and follows rules",
                "postrider dev --upstream push.example.net:2197 --upstream-ca authority.pem "
                    + "--rules bad-day.yaml"),
            .init(
                "A relay for other containers, which use its host name",
                "postrider dev --address 0.0.0.0 --name push.test"),
        ]
    )
}
