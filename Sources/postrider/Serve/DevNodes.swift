import FoundationEssentials
import Glibc
import PostriderCluster
import PostriderCommands
import PostriderNotifications
import PostriderOptions
import PostriderRelay
import PostriderSystem
import PostriderTransport

/// `postrider dev --nodes`: several relays as one service, with a PostgreSQL server, on this machine.
struct DevNodes {
    private let folder: DevFolder
    private let place: DevPlace
    private let topics: [Topic]
    private let nodes: [DevNode]
    private let logging: [(Setting, String)]
    private let events = DevEvents()

    /// How many nodes there can be.
    private static let counts = 2...8
    private static let startSeconds = 60
    /// The validity of certificates that mean nothing outside of this machine: ten years.
    private static let validDays = 3650

    static let option = Option.value(
        "nodes", "NUMBER",
        "Run so many relays as the nodes of one cluster, with a PostgreSQL server in the folder; it must be "
            + "installed. Each port rises by 10 from one node to the next.")

    /// The options that hold for nodes, too.
    private static let permitted: Set<String> = [
        "nodes", "directory", "temporary", "parent", "topic", "provider-port", "development-port",
        "device-port", "web-port", "console-port", "no-console", "address", "name", "log-level", "log-format",
        "json",
    ]

    /// The nodes that the user wants; nil for one relay alone.
    init?(_ options: ParsedOptions, _ topics: [Topic], _ ports: DevFolder.Ports) throws {
        guard let count = try options.integer("nodes", in: Self.counts) else { return nil }
        let others = options.table.options.map(\.name).filter { !Self.permitted.contains($0) }
        if let other = others.first(where: options.isSet) {
            throw options.error("--\(other) is not for several relays; leave it out, or --nodes")
        }
        folder = try DevFolder(options)
        place = try DevPlace(options)
        self.topics = topics
        logging =
            [(.logLevel, options.string("log-level") ?? "warning")]
            + (options.string(Setting.logFormat.rawValue).map { [(.logFormat, $0)] } ?? [])
        var choice = try DevNodePorts(options, ports, at: place.address)
        var nodes: [DevNode] = []
        for number in 0..<count {
            nodes.append(DevNode(number + 1, try choice.next(number, options), in: folder))
        }
        self.nodes = nodes
    }

    /// Runs the nodes until the user asks for the end, and returns the exit code.
    func run(_ options: ParsedOptions, log: Log, now: Moment) async throws -> Int32 {
        try ParentOption.follow(options)
        events.follow(try Termination.requests())
        defer { if options.isSet("temporary") { folder.remove() } }
        let changes = try folder.prepare(topics: topics, names: place.names, now: now)
        let certificates = try makeCertificates()
        let database = try await DevDatabase.start(in: folder, events)
        var programs: [DevProgram] = []
        let result: Result<Int32, any Error>
        do {
            try database.apply(changes, log: log)
            for node in nodes {
                try node.writeConfiguration(
                    folder, certificates, database, place, publicURL: publicURL, logging: logging)
                programs.append(try await node.start(Self.ownProgram, events))
            }
            try await events.wait(for: "the nodes share the partitions", seconds: Self.startSeconds) {
                for node in nodes where try await !node.isReady(among: nodes.count) { return false }
                return true
            }
            try await print(programs, options)
            result = .success(await untilEnd())
        } catch {
            result = .failure(error)
        }
        await withTaskGroup { group in
            for program in programs { group.addTask { await program.stop() } }
        }
        await database.stop()
        try? FileManager.default.removeItem(atPath: folder.controlSocket)
        return try result.get()
    }

    /// The URL of the web ports: one name for all nodes, as behind a load balancer. Here it is that of the first node.
    private var publicURL: String? { nodes[0].ports.web.map { DevWeb.origin(place, $0) } }

    /// The folder with the certificates of links, which are made where they are missing.
    private func makeCertificates() throws -> CertificateFolder {
        let certificates = CertificateFolder(folder.path + "/nodes")
        _ = try certificates.makeAuthority(validDays: Self.validDays)
        for node in nodes
        where try FileText.readIfThere(certificates.certificate(.node(node.name.text))) == nil {
            try certificates.makeNode(node.name, validDays: Self.validDays)
        }
        return certificates
    }

    /// Waits until the user asks for the end, or nothing is left to run. Returns the exit code.
    private func untilEnd() async -> Int32 {
        var left = nodes.count
        for await event in events.all {
            switch event {
            case .asked: return 0
            case .ended(DevDatabase.name, let ending):
                Console.complain("postrider: \(DevDatabase.name) \(ending): the nodes are ended")
                return 1
            case .ended(let name, let ending):
                left -= 1
                guard left > 0 else {
                    Console.complain("postrider: \(name) \(ending), and no other is left")
                    return 1
                }
                Console.complain(
                    "postrider: \(name) \(ending): the others have its devices. 'postrider serve --config' "
                        + "with its postrider.yaml in \(folder.path) starts it again")
            }
        }
        return 1
    }

    // MARK: What is printed

    /// Says how to use the nodes, as JSON or as a text, and stores that for other commands.
    private func print(_ programs: [DevProgram], _ options: ParsedOptions) async throws {
        var all: [DevValues] = []
        for (node, program) in zip(nodes, programs) {
            var values = try folder.values(
                node.ports.relay, topics, place, controlSocket: node.folder.controlSocket,
                process: program.identifier)
            values.node = node.name.text
            values.consoleLink = try await node.consoleLink(place)
            values.webURL = try node.ports.web.map {
                DevWeb.url($0, place, enrolmentKey: try folder.enrolmentKey())
            }
            try values.write(to: node.folder)
            all.append(values)
        }
        // Commands that are given the folder of all use the first node.
        var shared = all[0]
        (shared.node, shared.process) = (nil, getpid())
        shared.nodes = all
        try shared.write(to: folder)
        try? FileManager.default.removeItem(atPath: folder.controlSocket)
        try FileManager.default.createSymbolicLink(
            atPath: folder.controlSocket, withDestinationPath: nodes[0].folder.controlSocket)
        let output = try Console.makeOutput()
        output.add(try options.isSet("json") ? Console.json(shared) : guide(all))
    }

    private func guide(_ all: [DevValues]) -> String {
        let program = CommandLine.arguments[0]
        let rows = zip(nodes, all).map { node, values in
            [
                node.name.text, "\(values.host):\(values.providerPort)",
                "\(values.host):\(values.developmentProviderPort)", "\(values.host):\(values.devicePort)",
                "\(values.process)",
            ]
        }
        let (first, last) = (nodes[0].folder.path, nodes[nodes.count - 1].folder.path)
        let links = all.compactMap(\.consoleLink).map { "   \($0)\n" }.joined()
        let console =
            links.isEmpty
            ? ""
            : "See what happens, in a browser that trusts \(folder.authorityFile); each link is good once, "
                + "for five minutes:\n\n\(links)\n"
        return """
            The cluster is ready. Providers and devices can use any node, with the same keys and tokens:

            \(Listing.columns(["NODE", "PROVIDERS", "DEVELOPMENT", "DEVICES", "PROCESS"], rows))

            1. Start a device that connects to one node; it prints its device token, and then what it is sent:

               \(program) device --directory \(DevValues.quoted(last)) --topic \(topics[0])

            2. Push to it through another node:

               \(program) send --directory \(DevValues.quoted(first)) --topic \(topics[0]) \\
                 --title Hello --body 'from postrider' <the device token>

            3. See who has what, end a node's process, and look again:

               \(program) nodes list --directory \(DevValues.quoted(last))

            \(console)The configuration of each node is postrider.yaml in its folder in \(folder.path).
            Control-C ends the nodes and their database; the folder stays.
            """
    }

    /// The path of this program.
    private static var ownProgram: String {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
            ?? CommandLine.arguments[0]
    }
}
