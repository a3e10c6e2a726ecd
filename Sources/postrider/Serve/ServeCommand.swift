import PostriderNotifications
import PostriderOptions
import PostriderRelay
import PostriderTransport

/// `postrider serve`: runs the relay.
enum ServeCommand: Command {
    static let name = "serve"
    static let summary = "Run the relay."
    static let endsInGoodOrder = true
    static let reloads = true

    static func run(_ arguments: [String]) async throws -> Int32 {
        guard let options = try table.parseOrHelp(arguments) else { return 0 }
        let atStart = try Settings(options: options)
        let settings = try atStart.forRelay()
        let threshold = LogThreshold(settings.logLevel)
        let log = try ServiceLog.start(threshold, settings.logFormat)
        let served = try await ServedRelay.start(
            settings.relay, dataDirectory: settings.dataDirectory, metrics: settings.metrics,
            callbacks: settings.callbacks, log: log)
        let relay = served.relay
        let development = list(relay.developmentProviderAddresses)
        log.notice(
            "ready: providers connect to \(list(relay.providerAddresses))"
                + "\(development.isEmpty ? "" : " and \(development) (development)"), devices to "
                + "\(list(relay.deviceAddresses)), the operator to \(settings.relay.controlAddress); "
                + "\(settings.relay.shards) shards, \(DescriptorNeed.roomNow)")
        return await served.untilEnd {
            let read = try Settings(options: options)
            let settings = try read.forRelay()
            try served.relay.reload(settings.relay)
            if let metrics = settings.metrics { try served.metrics?.renew(metrics) }
            threshold.level = settings.logLevel
            return "new connections see the certificate in \(settings.relay.certificateChainFile)"
                + read.texts.unheeded(since: atStart.texts)
        }
    }

    private static func list(_ addresses: [SocketAddress]) -> String {
        addresses.map(\.description).joined(separator: ", ")
    }

    static let table = OptionTable(
        command: "postrider serve",
        summary: """
            Run the relay until SIGTERM or SIGINT. Every setting can stand in the configuration file, in the \
            environment, or here; what stands here wins over the environment, which wins over the file. \
            SIGHUP has it read its certificate, key, trust file, metrics token and log level again; \
            connections stay.
            """,
        options: [Settings.fileOption] + Setting.allCases.map(\.option),
        sections: [
            .init(
                "Environment",
                [(Settings.fileVariable, "As --config.")]
                    + Setting.allCases.map { ($0.variable, "As --\($0.rawValue).") })
        ],
        examples: [
            .init("Run with a configuration file", "postrider serve --config postrider.yaml"),
            .init(
                "Run with options only",
                "postrider serve --certificate relay.pem --private-key relay.key --data-directory data"),
        ]
    )
}
