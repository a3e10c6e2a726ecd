import FoundationEssentials
import PostriderCommands
import PostriderCrypto
import PostriderNotifications
import PostriderOptions
import PostriderProviderAPI
import PostriderRelay
import PostriderTransport

/// The folder in which `postrider dev` keeps what a relay, a provider and a device need. It creates what is missing,
/// and does not change what exists.
struct DevFolder {
    /// The key identifier and the team of the only provider key, ten characters each as Apple has them.
    static let keyIdentifier = "DEVKEY0001"
    static let team = "DEVTEAM001"
    /// The default folder.
    static let usualPath = ".postrider"

    /// The absolute path of the folder, so that printed paths work from any directory.
    let path: String

    init(_ path: String) {
        self.path = URL(filePath: path, directoryHint: .isDirectory).standardizedFileURL.path
    }

    /// The folder that the user of `postrider dev` wants: one with a name, or a new one.
    init(_ options: ParsedOptions) throws {
        guard options.isSet("temporary") else {
            self.init(options.string("directory") ?? Self.usualPath)
            return
        }
        guard !options.isSet("directory") else {
            throw options.error("--temporary makes a folder of its own; leave --directory out")
        }
        // The name is short, because the paths of Unix sockets must be short.
        let name = "postrider-" + String(UInt64.random(in: 0 ... .max), radix: 36)
        self.init(FileManager.default.temporaryDirectory.appending(path: name).path)
    }

    /// Removes the folder with all files.
    func remove() { try? FileManager.default.removeItem(atPath: path) }

    var authorityFile: String { path + "/authority.pem" }
    var certificateFile: String { path + "/relay.pem" }
    var privateKeyFile: String { path + "/relay.key" }
    /// A copy of the relay's certificate that has expired, for rules that show it to providers.
    var expiredCertificateFile: String { path + "/relay-expired.pem" }
    /// The file with the names for which the certificate is valid beside those of this machine, one per line; missing
    /// if there are none.
    var namesFile: String { path + "/relay.names" }
    var providerKeyFile: String { path + "/AuthKey_\(Self.keyIdentifier).p8" }
    var providerCertificateFile: String { path + "/provider.pem" }
    var providerCertificateKeyFile: String { path + "/provider.key" }
    /// The provider's certificate with an RSA key, for libraries that load no other keys, such as apnotic.
    var providerRSACertificateFile: String { path + "/provider-rsa.pem" }
    var providerRSACertificateKeyFile: String { path + "/provider-rsa.key" }
    var enrolmentKeyFile: String { path + "/enrolment.key" }
    var dataDirectory: String { path + "/data" }
    var controlSocket: String { path + "/control.sock" }
    /// The file with the values that the last `postrider dev` printed with --json.
    var valuesFile: String { path + "/dev.json" }

    private var authorityKeyFile: String { path + "/authority.key" }

    /// Creates what is missing, and returns the entries that the relay's registry must have.
    ///
    /// - Parameter names: host names and addresses for which the relay's certificate must be valid, beside those of
    ///   this machine.
    func prepare(topics: [Topic], names: [String] = [], now: Moment) throws -> [RegistryChange] {
        try FileText.makeDirectory(path, advice: "name another one with --directory")
        // Certificates that an earlier authority signed are not trusted with a new one.
        let isNewAuthority = try makeAuthority()
        try makeCertificate(for: names, anew: isNewAuthority)
        try makeProviderCertificate(
            providerCertificateFile, providerCertificateKeyFile, .p256, for: topics, anew: isNewAuthority)
        try makeProviderCertificate(
            providerRSACertificateFile, providerRSACertificateKeyFile, .rsa2048, for: topics,
            anew: isNewAuthority)
        let providerKey = try keyText(providerKeyFile) { ES256.PrivateKey.generate().pem }
        let publicKey = try ES256.PrivateKey(pem: providerKey).publicKey.pem
        let enrolmentKey = try self.enrolmentKey()
        return topics.map { .putTopic(TopicRecord(topic: $0, team: Self.team)) } + [
            .putProviderKey(
                ProviderKeyRecord(
                    identifier: Self.keyIdentifier, team: Self.team, publicKey: publicKey, addedAt: now)),
            .putEnrolmentKey(
                EnrolmentKeyRecord(name: "dev", digest: EnrolmentKey.digest(enrolmentKey), addedAt: now)),
        ]
    }

    /// The key with which devices enrol. It is made if it is missing.
    func enrolmentKey() throws -> String {
        try keyText(enrolmentKeyFile) { EnrolmentKey.draw(Entropy()) + "\n" }.trimmed
    }

    /// Makes the certificate authority if it is missing. Returns whether it was made.
    private func makeAuthority() throws -> Bool {
        guard !exists(authorityFile), !exists(authorityKeyFile) else { return false }
        let made = try Certificates.makeAuthority(
            commonName: "Postrider development authority", validDays: Self.validDays)
        try FileText.write(made.key, to: authorityKeyFile)
        try FileText.write(made.certificate, to: authorityFile)
        return true
    }

    /// Makes the relay's certificate if it is missing, or lacks one of these names.
    private func makeCertificate(for names: [String], anew: Bool) throws {
        let made = try FileText.readIfThere(namesFile)?.split(separator: "\n").map(String.init) ?? []
        let isMissing = anew || !exists(certificateFile) || !exists(privateKeyFile)
        guard isMissing || !Set(made).isSuperset(of: names) else {
            if !exists(expiredCertificateFile) { try makeExpiredCertificate() }
            return
        }
        // Names of earlier starts are kept, because their containers may still run.
        let all = made + names.filter { !made.contains($0) }
        let issued = try Certificates.issueRelay(
            ["localhost", "127.0.0.1", "::1"] + all, validDays: Self.validDays, authority: authority())
        try FileText.write(issued.key, to: privateKeyFile)
        try FileText.write(issued.certificate, to: certificateFile)
        if !all.isEmpty { try FileText.write(all.joined(separator: "\n") + "\n", to: namesFile) }
        try makeExpiredCertificate()
    }

    private func makeExpiredCertificate() throws {
        let certificate = try FileText.read(certificateFile, "The relay's certificate")
        try FileText.write(
            try Certificates.makeExpired(copyOf: certificate, authority: authority()),
            to: expiredCertificateFile)
    }

    /// Makes a certificate for a provider of these topics, if the existing one does not cover them. Like Apple's, it
    /// is valid in both environments, and for the app and its derived topics.
    private func makeProviderCertificate(
        _ certificateFile: String, _ keyFile: String, _ keyKind: Certificates.KeyKind, for topics: [Topic],
        anew: Bool
    ) throws {
        guard !topics.isEmpty else { return }
        let wanted = Set(PushExtensions(inBothEnvironments: topics).topics)
        if !anew, let text = try FileText.readIfThere(certificateFile), exists(keyFile),
            let made = PushExtensions(certificate: text), Set(made.topics).isSuperset(of: wanted)
        {
            return
        }
        let issued = try Certificates.issueProvider(
            topics, keyKind: keyKind, validDays: Self.validDays, authority: authority())
        try FileText.write(issued.key, to: keyFile)
        // Most libraries want certificate and key in one file.
        try FileText.write(issued.certificate + issued.key, to: certificateFile)
    }

    private func authority() throws -> Certificates.Issued {
        Certificates.Issued(
            certificate: try FileText.read(authorityFile, "The authority's certificate"),
            key: try FileText.read(authorityKeyFile, "The authority's key")
        )
    }

    /// Ten years, so that nobody is stopped by the expiry of a certificate that means nothing outside of this
    /// machine.
    private static let validDays = 3650

    private func keyText(_ file: String, make: () -> String) throws -> String {
        if let text = try FileText.readIfThere(file) { return text }
        let text = make()
        try FileText.write(text, to: file)
        return text
    }

    private func exists(_ file: String) -> Bool { FileManager.default.fileExists(atPath: file) }
}

extension ParsedOptions {
    /// The error for a folder in which no `postrider dev` was run.
    func withoutDev(in folder: String) -> UsageError {
        error("'postrider dev' has not been in \(folder); name the folder that it was given")
    }

    /// The error for a command that needs a value which neither an option nor `postrider dev` gives.
    func knowingNo(_ what: String, give options: String) -> UsageError {
        error("no \(what) is known here; give \(options), or come to where 'postrider dev' was started")
    }
}
