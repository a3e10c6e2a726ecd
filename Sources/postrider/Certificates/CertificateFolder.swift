import FoundationEssentials
import PostriderCrypto
import PostriderNotifications
import PostriderRelay
import PostriderSystem

/// A folder with an authority and the certificates that it has issued, each as `NAME.pem` and `NAME.key`.
struct CertificateFolder {
    /// The certificates that a folder can have.
    enum Name: String, CaseIterable {
        /// Signs the others. Whoever has its key can be anybody to the relay and its devices.
        case authority
        /// The relay's.
        case relay
        /// A provider's that pushes without tokens.
        case provider
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

    func certificate(_ name: Name) -> String { "\(path)/\(name.rawValue).pem" }

    func key(_ name: Name) -> String { "\(path)/\(name.rawValue).key" }

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
        let due = try [Name.relay, .provider].compactMap { name in try details(name).map { (name, $0) } }
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

    /// The certificates that are here.
    func list() throws -> [Entry] {
        let entries = try Name.allCases.compactMap { name in
            try details(name).map { details in
                Entry(
                    name: name.rawValue, file: certificate(name), subject: details.commonName ?? "",
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
