import PostriderCluster
import PostriderCommands
import PostriderCrypto
import PostriderNotifications
import PostriderProviderAPI
import PostriderTransport

extension Certificates {
    /// Makes a relay's certificate for host names and addresses, of which there is at least one. The first names the
    /// subject.
    static func issueRelay(
        _ names: [String], validDays: Int, authority: Issued
    ) throws(CryptoError) -> Issued {
        let isAddress = { (name: String) in (try? SocketAddress(host: name, port: 0)) != nil }
        return try issue(
            commonName: String(names[0].prefix(64)), dnsNames: names.filter { !isAddress($0) },
            ipAddresses: names.filter(isAddress), usage: .server, validDays: validDays, authority: authority)
    }

    /// Makes a node's certificate, for both ends of links between nodes.
    static func issueNode(
        _ node: NodeName, validDays: Int, authority: Issued
    ) throws(CryptoError) -> Issued {
        try issue(
            commonName: node.text, dnsNames: [node.text], usage: .node, validDays: validDays,
            authority: authority)
    }

    /// Makes a provider's certificate for these topics, of which there is at least one. Like Apple's, it is valid in
    /// both environments, and for the apps and their derived topics.
    static func issueProvider(
        _ topics: [Topic], keyKind: KeyKind = .p256, validDays: Int, authority: Issued
    ) throws(CryptoError) -> Issued {
        try issue(
            commonName: "Push Services: " + topics[0].text.prefix(40), userIdentifier: topics[0].text,
            extensions: PushExtensions(inBothEnvironments: topics).encoded, usage: .client, keyKind: keyKind,
            validDays: validDays, authority: authority)
    }
}
