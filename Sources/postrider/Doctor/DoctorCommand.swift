import FoundationEssentials
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
        let (agent, relay) = (options.string("agent"), options.string(Settings.fileOption.name))
        guard agent == nil || relay == nil else {
            throw options.error(
                "--agent and --config exclude each other: look at one service after the other")
        }
        let findings: [Finding]
        if let agent {
            let fileOption = [AgentSettings.fileVariable: agent]
            let agentOptions = try AgentCommand.table.parse([])
            let settings = try AgentSettings(
                options: agentOptions, environment: environment.merging(fileOption) { $1 },
                readManifests: { _ in [] }, readFile: FileText.readIfThere)
            findings = await Machine(unit: "postrider-agent.service", configuration: agent)
                .findings(ofAgent: settings.agent)
        } else {
            let settings = try Settings(options: options)
            let arguments = try settings.forRelay()
            let control = ControlClient(address: arguments.relay.controlAddress)
            let isRunning = (try? await control.request("GET", "/v1/status")) != nil
            let file = relay ?? environment[Settings.fileVariable] ?? Settings.usualFile
            findings = await Machine(unit: "postrider.service", configuration: file).findings(
                ofRelay: arguments.relay, store: arguments.store,
                names: hosts(settings[.callbackAllow]), isRunning: isRunning)
        }
        if options.isSet("json") {
            Console.say(try Console.json(findings))
        } else {
            for finding in findings { Console.say(finding.line) }
            if findings.isEmpty { Console.say("Nothing is wrong with this machine.") }
        }
        return findings.isEmpty ? 0 : findings[0].severity == .failure ? 1 : 4
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
            .file("agent", "Look at this machine as the device with this configuration."),
            .flag("json", "Print the list of findings, as JSON."),
        ],
        examples: [
            .init("Look at a relay's machine before its start", "postrider doctor --config postrider.yaml"),
            .init("Find out why a device is offline", "postrider doctor --agent agent.yaml"),
        ]
    )
}
