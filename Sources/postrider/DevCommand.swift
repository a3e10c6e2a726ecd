import Foundation
import Glibc
import Notifications
import Options
import Relay
import Transport

/// `postrider dev`: a relay with nothing to configure.
enum DevCommand: Command {
    static let name = "dev"
    static let summary = "Run a relay with nothing to configure, and say how to push to it."
    static let endsInGoodOrder = true
    static let reloads = true

    static func run(_ arguments: [String]) async throws -> Int32 {
        let options = try table.parse(arguments)
        if options.asksForHelp {
            Console.say(table.helpText)
            return 0
        }
        let topics = try topics(options)
        let ports = (
            provider: try port(options, "provider-port") ?? 2197,
            device: try port(options, "device-port") ?? 5223
        )
        guard ports.provider != ports.device || ports.provider == 0 else {
            throw options.error(
                "--provider-port and --device-port are both \(ports.device); choose another for one")
        }
        let level = try options.choice("log-level", of: LogLevel.self)?.level ?? .warning
        let folder = DevFolder(options.string("directory") ?? DevFolder.usualPath)
        let now = Moment(milliseconds: Int64(Date().timeIntervalSince1970 * 1000))
        let changes = try folder.prepare(topics: topics, now: now)
        var configuration = RelayConfiguration(
            providerAddress: try SocketAddress(host: host, port: ports.provider),
            deviceAddress: try SocketAddress(host: host, port: ports.device),
            controlAddress: try SocketAddress(unixPath: folder.controlSocket),
            certificateChainFile: folder.certificateFile,
            privateKeyFile: folder.privateKeyFile,
            shards: Settings.usualShards,
            user: geteuid()
        )
        configuration.providerTrustFile = folder.authorityFile
        let log = ServiceLog.log(level, isJournal: ServiceLog.isJournal)
        let served = try await ServedRelay.start(
            configuration, dataDirectory: folder.dataDirectory, changes: changes, log: log)
        let values = try values(of: folder, served.relay, topics)
        try values.write(to: folder)
        if options.isSet("json") {
            Console.say(try Console.json(values))
        } else {
            Console.say(
                values.guide(program: CommandLine.arguments[0], folder: options.string("directory")))
        }
        return await served.untilEnd {
            try served.relay.reload(configuration)
            return "new connections see the certificate in \(configuration.certificateChainFile)"
        }
    }

    private static let host = "127.0.0.1"

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

    private static func port(_ options: ParsedOptions, _ name: String) throws -> UInt16? {
        try options.integer(name, in: 0...65_535).map { UInt16($0) }
    }

    private static func values(of folder: DevFolder, _ relay: Relay, _ topics: [Topic]) throws -> DevValues {
        guard let providerPort = relay.providerAddress.port, let devicePort = relay.deviceAddress.port else {
            preconditionFailure("an address of the Internet has a port")
        }
        return DevValues(
            host: host,
            providerPort: providerPort,
            devicePort: devicePort,
            authorityFile: folder.authorityFile,
            keyFile: folder.providerKeyFile,
            keyIdentifier: DevFolder.keyIdentifier,
            providerCertificateFile: folder.providerCertificateFile,
            providerCertificateKeyFile: folder.providerCertificateKeyFile,
            team: DevFolder.team,
            topics: topics.map(\.text),
            enrolmentKey: try folder.enrolmentKey(),
            enrolmentKeyFile: folder.enrolmentKeyFile,
            controlAddress: "unix:" + folder.controlSocket,
            process: getpid()
        )
    }

    static let table = OptionTable(
        command: "postrider dev",
        summary: """
            Run a relay on this machine for trying things out. A certificate authority, the relay's \
            certificate, a provider's key and certificate, a topic and an enrolment key are made in a folder \
            where they are missing, and stay there. Prints what to copy when it is ready.
            """,
        options: [
            .value(
                "directory", short: "d", "FOLDER",
                "Where everything is kept; \(DevFolder.usualPath) if not given."),
            .list("topic", short: "t", "TOPIC", "What pushes can be for; com.example.app if not given."),
            .value("provider-port", "PORT", "Where providers connect; 2197 if not given. 0: any free one."),
            .value("device-port", "PORT", "Where devices connect; 5223 if not given. 0: any free one."),
            .value("log-level", "LEVEL", "error, warning (if not given), notice, info or debug."),
            .flag("json", "Print one line of JSON with all values when the relay is ready."),
        ],
        examples: [
            .init("Start, and read on the screen what to do next", "postrider dev"),
            .init(
                "A relay for a test: any free ports, a line for a program",
                "postrider dev -d folder --json --provider-port 0 --device-port 0"),
        ]
    )
}
