import FoundationEssentials
import PostriderCommands
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
        let service = try ServiceLog.start(LogThreshold(settings.logLevel), settings.logFormat)
        let log = service.log
        var configuration = settings.relay
        try SocketActivation(ProcessInfo.processInfo.environment)?
            .apply(to: &configuration, settings.metrics, atStart.texts)
        let served = try await ServedRelay.start(
            configuration, store: settings.store, metrics: settings.metrics,
            callbacks: settings.callbacks, spans: settings.spans, log: log)
        let captures = try settings.captures.flatMap { address in
            try settings.relay.bench.map { try CapturesService(at: address, $0, names: []) }
        }
        defer { captures?.stop() }
        let relay = served.relay
        let development = list(relay.developmentProviderAddresses)
        let tests = captures?.address.map { ", tests to \($0)" } ?? ""
        let web = relay.webAddresses.isEmpty ? "" : "browsers to \(list(relay.webAddresses)), "
        log.notice(
            "ready: providers connect to \(list(relay.providerAddresses))"
                + "\(development.isEmpty ? "" : " and \(development) (development)"), devices to "
                + "\(list(relay.deviceAddresses)), \(web)the operator to \(settings.relay.controlAddress)"
                + "\(tests); \(settings.relay.shards) shards, \(DescriptorNeed.roomNow)")
        var inForce = atStart.texts
        return await served.untilEnd {
            let read = try Settings(options: options)
            let settings = try read.forRelay()
            try settings.callbacks?.requireWholeTrace(settings.relay)
            try settings.spans?.requireWholeTrace(settings.relay)
            try ServiceLog.requirePlace(for: settings.logFormat)
            try await served.relay.reload(settings.relay)
            if let metrics = settings.metrics { try served.metrics?.renew(metrics) }
            service.change(settings.logLevel, settings.logFormat)
            defer { inForce = read.texts }
            let changes = read.texts.changes(since: inForce)
            let sentence =
                "new connections see the certificate in \(settings.relay.certificateChainFile)"
                + changes.map { "; \($0.sentence)" }.joined() + read.texts.unheeded(since: atStart.texts)
            return ReloadResult(
                sentence: sentence,
                changes: Dictionary(uniqueKeysWithValues: changes.map { ($0.name.rawValue, $0.new ?? "") }))
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
            SIGHUP has it read settings and files again, and apply all but addresses, directories, threads \
            and recordings; connections stay. A mistake in them changes nothing.
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
