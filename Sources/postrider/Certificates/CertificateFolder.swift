import FoundationEssentials
import PostriderCluster
import PostriderCommands
import PostriderCrypto
import PostriderNotifications
import PostriderRelay
import PostriderSystem

/// A folder with an authority and the certificates that it has issued, each as `NAME.pem` and `NAME.key`.
struct CertificateFolder {
    /// A certificate that a folder can have.
    enum Name: Equatable {
        /// Signs the others. Whoever has its key can be anybody to the relay and its devices.
        case authority
        /// The relay's.
        case relay
        /// A provider's that pushes without tokens.
        case provider
        /// That of the node of this name in a cluster, with which it accepts and opens links to other nodes.
        case node(String)

        /// What the names of its files begin with.
        var text: String {
            switch self {
            case .authority: "authority"
            case .relay: "relay"
            case .provider: "provider"
            case .node(let name): "node-\(name)"
            }
        }
    }

    /// A certificate of the folder.
    struct Entry: Codable {
        let name: String
        let file: String
        let subject: String
        let names: String
        /// RFC 3339.
        let validUntil: String
        /// Whole days until then, negative if it has expired.
        let daysLeft: Int
    }

    let path: String

    init(_ path: String) {
        self.path = URL(filePath: path, directoryHint: .isDirectory).standardizedFileURL.path
    }

    func certificate(_ name: Name) -> String { "\(path)/\(name.text).pem" }

    func key(_ name: Name) -> String { "\(path)/\(name.text).key" }

    /// What can be here: the nodes' certificates that are, and the others.
    private var names: [Name] {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
        let nodes = files.filter { $0.hasPrefix("node-") && $0.hasSuffix(".pem") }.sorted()
            .map { Name.node(String($0.dropFirst(5).dropLast(4))) }
        return [.authority, .relay, .provider] + nodes
    }

    // MARK: Making

    /// Makes an authority if there is none. Returns whether it made one.
    func makeAuthority(validDays: Int) throws -> Bool {
        try FileText.makeDirectory(path, advice: "name another one")
        guard try FileText.readIfThere(certificate(.authority)) == nil else { return false }
        guard try FileText.readIfThere(key(.authority)) == nil else {
            throw CommandFailure(
                "\(key(.authority)) is there without \(certificate(.authority)): bring that back, or "
                    + "move the key away.")
        }
        try put(
            .authority,
            Certificates.makeAuthority(commonName: "Postrider authority", validDays: validDays))
        return true
    }

    /// Makes the relay's certificate, for these names and for this machine's own.
    func makeRelay(names: [String], validDays: Int) throws {
        try refuseExisting(.relay)
        try put(
            .relay,
            Certificates.issueRelay(
                names + ["localhost", "127.0.0.1", "::1"], validDays: validDays, authority: authority()))
    }

    /// Makes a provider's certificate for these topics, as Apple's for both environments.
    func makeProvider(topics: [Topic], validDays: Int) throws {
        try refuseExisting(.provider)
        try put(
            .provider, Certificates.issueProvider(topics, validDays: validDays, authority: authority()))
    }

    /// Makes the certificate of a node.
    func makeNode(_ node: NodeName, validDays: Int) throws {
        try refuseExisting(.node(node.text))
        try put(
            .node(node.text), Certificates.issueNode(node, validDays: validDays, authority: authority()))
    }

    private func refuseExisting(_ name: Name) throws(CommandFailure) {
        guard try FileText.readIfThere(certificate(name)) != nil else { return }
        throw CommandFailure(
            "\(certificate(name)) is there already: 'postrider certificates renew' makes its successor; for "
                + "other names move it away first.", exitCode: 2)
    }

    // MARK: Renewing

    /// Renews what has at most `days` days left, each for as long as it was made for, and the authority if it would
    /// end before what it signs. Returns the names of what was renewed.
    func renew(daysLeft days: Int) throws -> [Name] {
        let due = try names.filter { $0 != .authority }
            .compactMap { name in try details(name).map { (name, $0) } }
            .filter { $0.1.daysLeft <= days }
        guard let authority = try details(.authority) else { throw missing }
        let latestEnd = due.map { Self.now + $0.1.validUntil - $0.1.validFrom }.max() ?? 0
        let renewsAuthority = authority.daysLeft <= days || latestEnd > authority.validUntil
        if renewsAuthority {
            try put(
                .authority, Certificates.renewAuthority(self.authority(), validDays: authority.validDays))
        }
        for (name, details) in due {
            let old = try FileText.read(certificate(name), "The certificate")
            try put(
                name,
                Certificates.renew(old, validDays: details.validDays, authority: self.authority()))
        }
        return (renewsAuthority ? [.authority] : []) + due.map(\.0)
    }

    /// Lists the certificates that are here.
    func list() throws -> [Entry] {
        let entries = try names.compactMap { name in
            try details(name).map { details in
                Entry(
                    name: name.text, file: certificate(name), subject: details.commonName ?? "",
                    names: details.userIdentifier ?? details.alternativeNames,
                    validUntil: Listing.time(details.validUntil * 1000), daysLeft: details.daysLeft)
            }
        }
        guard !entries.isEmpty else { throw missing }
        return entries
    }

    // MARK: Files

    fileprivate static var now: Int64 { Int64(Date().timeIntervalSince1970) }

    /// The certificate with this name; nil if the folder has none.
    private func details(_ name: Name) throws -> CertificateDetails? {
        guard let text = try FileText.readIfThere(certificate(name)) else { return nil }
        if let details = CertificateDetails(pem: text) { return details }
        throw CommandFailure(
            "\(certificate(name)) has no certificate in PEM: bring back the one that was made.")
    }

    /// The error for a folder without an authority.
    private var missing: CommandFailure {
        CommandFailure(
            "\(certificate(.authority)) is not there: name the folder in which 'postrider certificates make' "
                + "was.", exitCode: 2)
    }

    private func authority() throws -> Certificates.Issued {
        Certificates.Issued(
            certificate: try FileText.read(certificate(.authority), "The authority's certificate"),
            key: try FileText.read(key(.authority), "The authority's key"))
    }

    /// The key is written first. If this is interrupted between the two, the relay refuses a pair that does not fit and
    /// keeps the one that it has; the next renewal replaces both.
    private func put(_ name: Name, _ issued: Certificates.Issued) throws {
        try FileText.replace(key(name), with: issued.key, mode: 0o600)
        try FileText.replace(certificate(name), with: issued.certificate, mode: 0o644)
    }
}

extension CertificateDetails {
    /// Whole days until the end, negative after it.
    fileprivate var daysLeft: Int {
        Int((Double(validUntil - CertificateFolder.now) / 86_400).rounded(.down))
    }

    /// The days for which it was made. It is valid from an hour before.
    fileprivate var validDays: Int { max(1, Int(validUntil - validFrom) / 86_400) }
}
