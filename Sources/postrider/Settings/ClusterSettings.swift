import FoundationEssentials
import PostriderCluster
import PostriderCommands
import PostriderNotifications
import PostriderRelay
import PostriderTransport

extension Settings {
    /// The form of `node-name`, for sentences.
    private static let nameForm =
        "1 to \(NodeName.mostBytes) lower-case letters, digits, hyphens and dots, with a letter or digit "
        + "first"

    /// What makes the relay a node of a cluster; nil if it is not to be one.
    ///
    /// - Parameter place: where its store is.
    func cluster(_ place: StorePlace) throws -> RelayConfiguration.Cluster? {
        let named = try texts.value(.nodeName, form: Self.nameForm) { NodeName($0) }
        let reached = try texts.value(
            .clusterPublicAddress, form: "a host or an address, and a port, such as relay-1.example:2195"
        ) { text in
            (try? Destination(text)).flatMap { $0.host == nil ? nil : $0 }
        }
        let form = "an address with a port, such as 192.0.2.1:2195 or 0.0.0.0:2195"
        let listening = try texts.value(.clusterAddress, form: form) { text in
            (try? SocketAddress(text)).flatMap { ($0.port ?? 0) == 0 ? nil : $0 }
        }
        guard let address = listening else { return nil }
        guard place.database != nil else {
            throw texts.mistake(
                .clusterAddress,
                "needs store, the PostgreSQL database that all nodes share; set both, or none")
        }
        let host = ProcessInfo.processInfo.hostName
        guard let name = named ?? Self.nodeName(ofHost: host) else {
            throw texts.mistake(
                .clusterAddress, "needs node-name, because the name of this host, '\(host)', cannot be one")
        }
        guard reached != nil || !["0.0.0.0", "::"].contains(address.host) else {
            throw texts.mistake(
                .clusterAddress,
                "is \(address), which other nodes cannot dial; set cluster-public-address as well")
        }
        let publicAddress = reached?.description ?? address.description
        return RelayConfiguration.Cluster(
            name: name, address: address, publicAddress: publicAddress,
            certificateChainFile: try file(.clusterCertificate, name),
            privateKeyFile: try file(.clusterKey, name), trustFile: try file(.clusterTrust, name),
            openMembership: { (log) throws(StoreError) in
                try place.openMembership(name, at: publicAddress, log: log)
            },
            openStore: { (claim, log) throws(StoreError) in try place.openPartitions(of: claim, log: log) })
    }

    /// The name of the node on a host of this name; nil if it cannot be one.
    static func nodeName(ofHost host: String) -> NodeName? { NodeName(host.lowercased()) }

    /// A file that a node needs.
    private func file(_ setting: Setting, _ name: NodeName) throws -> String {
        if let path = texts[setting] { return path }
        throw texts.mistake(
            .clusterAddress,
            "needs \(setting.rawValue), a file that 'postrider certificates make FOLDER --node \(name)' makes"
        )
    }
}
