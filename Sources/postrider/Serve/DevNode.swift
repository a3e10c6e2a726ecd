import FoundationEssentials
import PostriderCluster
import PostriderCommands
import PostriderNotifications
import PostriderOptions
import PostriderRelay
import PostriderTransport

/// One node of `postrider dev --nodes`: `postrider serve` in a process of its own, with a configuration file that a
/// user can read, and start it with again.
struct DevNode {
    /// The ports on which it listens.
    struct Ports {
        let relay: DevFolder.Ports
        /// The port for the other nodes.
        let cluster: UInt16
        /// The port of its console; nil for none.
        let console: UInt16?
        /// The port for Web Push; nil for none.
        let web: UInt16?
    }

    let name: NodeName
    let ports: Ports
    /// The folder of what is the node's own. It is one that the commands of providers, devices and operators take as
    /// that of `postrider dev`.
    let folder: DevFolder

    /// - Parameter number: from 1.
    init(_ number: Int, _ ports: Ports, in folder: DevFolder) {
        guard let name = NodeName("relay-\(number)") else { preconditionFailure("the text is a name") }
        self.name = name
        self.ports = ports
        self.folder = DevFolder("\(folder.path)/\(name)")
    }

    var configurationFile: String { folder.path + "/postrider.yaml" }

    /// How its operator reaches it.
    var control: ControlClient {
        get throws { ControlClient(address: try SocketAddress(unixPath: folder.controlSocket)) }
    }

    /// Writes its configuration.
    func writeConfiguration(
        _ shared: DevFolder, _ certificates: CertificateFolder, _ database: DevDatabase, _ place: DevPlace,
        publicURL: String?, logging: [(Setting, String)]
    ) throws {
        try FileText.makeDirectory(folder.path, advice: "name another one with --directory")
        func address(_ port: UInt16, at host: String? = nil) throws -> String {
            try SocketAddress(host: host ?? place.address, port: port).description
        }
        let certificate = CertificateFolder.Name.node(name.text)
        var settings: [(Setting, String)] = [
            (.providerAddress, try address(ports.relay.provider)),
            (.developmentProviderAddress, try address(ports.relay.development)),
            (.deviceAddress, try address(ports.relay.device)),
            (.controlAddress, "unix:" + folder.controlSocket),
            (.metricsAddress, "off"),
            (.certificate, shared.certificateFile),
            (.privateKey, shared.privateKeyFile),
            (.providerTrust, shared.authorityFile),
            (.dataDirectory, folder.dataDirectory),
            (.store, database.text),
            (.nodeName, name.text),
            (.clusterAddress, try address(ports.cluster, at: "127.0.0.1")),
            (.clusterCertificate, certificates.certificate(certificate)),
            (.clusterKey, certificates.key(certificate)),
            (.clusterTrust, certificates.certificate(.authority)),
        ]
        if let console = ports.console { settings.append((.consoleAddress, try address(console))) }
        if let web = ports.web, let publicURL {
            settings += [(.webAddress, try address(web)), (.publicURL, publicURL)]
        }
        let lines = (settings + logging).map { "\($0.rawValue): '\($1.replacing("'", with: "''"))'\n" }
        try FileText.write(
            "# Written by 'postrider dev --nodes' at each start.\n" + lines.joined(), to: configurationFile)
    }

    func start(_ program: String, _ events: DevEvents) async throws -> DevProgram {
        try await DevProgram.start(program, ["serve", "--config", configurationFile], endedBy: .terminate) {
            [name] in
            events.add(.ended("Node \(name)", $0))
        }
    }

    /// Whether it serves partitions, and is linked to all of so many nodes; false while it does not answer.
    func isReady(among count: Int) async throws -> Bool {
        guard let list = try? await control.list("/v1/nodes", of: Control.NodeList.self).item else {
            return false
        }
        let shared = list.nodes.reduce(0) { $0 + $1.partitions }
        return list.served > 0 && shared == Partition.count && list.nodes.count == count
            && list.nodes.allSatisfy { $0.isLinked ?? true }
    }

    /// The link with which the user signs in to its console, once; nil if there is none.
    func consoleLink(_ place: DevPlace) async throws -> String? {
        guard let port = ports.console else { return nil }
        let order = try Console.json(Control.ConsoleLinkRequest(role: "administer"))
        let answer = try await control.request("PUT", "/v1/console-links/dev", body: Array(order.utf8))
        let secret = try JSONDecoder().decode(Control.ConsoleLink.self, from: Data(answer)).secret
        return ConsoleCommand.link(
            to: try SocketAddress(host: place.host, port: port).description, secret)
    }
}
