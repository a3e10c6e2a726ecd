import FoundationEssentials
import PostriderCommands
import PostriderNotifications
import PostriderOptions
import PostriderRelay
import PostriderTransport

/// `postrider doctor`: looks at the machine of a relay or a device, and says what to do.
enum DoctorCommand: Command {
    static let name = "doctor"
    static let summary = "Look at the machine of a relay or a device, and say what is wrong and what to do."

    static func run(_ arguments: [String]) async throws -> Int32 {
        guard let options = try table.parseOrHelp(arguments) else { return 0 }
        let environment = ProcessInfo.processInfo.environment
        let relay = options.string(Settings.fileOption.name)
        if let agent = options.string("agent") {
            guard relay == nil else {
                throw options.error(
                    "--agent and --config exclude each other: look at one service after the other")
            }
            try HandOverCommand.handOver(["doctor", "--config", agent], options)
        }
        let settings = try Settings(options: options)
        let arguments = try settings.forRelay()
        let control = ControlClient(address: arguments.relay.controlAddress)
        let isRunning = (try? await control.request("GET", "/v1/status?local")) != nil
        let file = relay ?? environment[Settings.fileVariable] ?? Settings.usualFile
        let findings = await Machine(unit: "postrider.service", configuration: file).findings(
            ofRelay: arguments.relay, store: arguments.store,
            names: hosts(settings[.callbackAllow]), isRunning: isRunning)
        return try Finding.tell(findings, asJSON: options.isSet("json"))
    }

    /// The hosts of URLs with commas between them.
    static func hosts(_ urls: String?) -> [String] {
        var hosts: [String] = []
        for url in urls?.split(separator: ",") ?? [] {
            guard let host = URL(string: url.trimmed)?.host(), !hosts.contains(host) else { continue }
            hosts.append(host)
        }
        return hosts
    }

    static let table = OptionTable(
        command: "postrider doctor",
        summary: """
            Look at this machine as a relay or a device will use it: open files, clock, data directory and \
            its disk, ports, certificate, names, the kernel's limits; for a device also the way to its \
            relay and the relay's certificate. Prints one line for each finding, failures first, with what \
            to do. Exit code 0: nothing is wrong; 4: warnings only; 1: a failure; 2: the configuration is \
            wrong ('postrider check' says more). Changes nothing: the disk's speed is measured with a file \
            in the data directory whose name is removed at once. Use it as the user who runs the service.
            """,
        options: [
            Settings.fileOption,
            .file(
                "agent",
                "Look at this machine as the device with this configuration: 'postrider-agent doctor'."),
            .flag("json", "Print the list of findings, as JSON."),
        ],
        examples: [
            .init("Look at a relay's machine before its start", "postrider doctor --config postrider.yaml"),
            .init("Find out why a device is offline", "postrider doctor --agent agent.yaml"),
        ]
    )
}
