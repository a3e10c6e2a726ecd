import Foundation
import PostriderCrypto
import PostriderTLS
import PostriderTransport

/// Certificates and keys on disk for one test; their folder is removed with this object.
final class TestCertificates {
    let folder: URL
    let authority: Certificates.Issued

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "postrider-" + UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        authority = try Certificates.makeAuthority(commonName: "Test authority", validDays: 2)
        _ = try write("authority.pem", authority.certificate)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

    /// Writes a file that only its owner can read, and returns its path.
    func write(_ name: String, _ text: String) throws -> String {
        try Data(text.utf8).write(to: folder.appendingPathComponent(name))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path(name))
        return path(name)
    }

    /// Writes `name`.pem and `name`.key.
    func write(_ name: String, _ issued: Certificates.Issued) throws {
        _ = try write(name + ".pem", issued.certificate)
        _ = try write(name + ".key", issued.key)
    }

    /// Makes a server's context for localhost and 127.0.0.1.
    func server(
        allowsMissingALPN: Bool = true, clientCertificates: TLSContext.ClientCertificates = .none,
        records: TLSRecords = .own
    ) throws -> TLSContext {
        let issued = try Certificates.issue(
            commonName: "relay", dnsNames: ["localhost"], ipAddresses: ["127.0.0.1", "::1"], usage: .server,
            validDays: 1, authority: authority)
        try write("server", issued)
        return try TLSContext.server(
            certificateChainFile: path("server.pem"), privateKeyFile: path("server.key"), alpn: ["h2"],
            allowsMissingALPN: allowsMissingALPN, clientCertificates: clientCertificates, records: records)
    }

    /// Makes a client's context that trusts the authority, with a certificate if there is one.
    func client(alpn: [String] = ["h2"], certificate: Certificates.Issued? = nil) throws -> TLSContext {
        if let certificate { try write("client", certificate) }
        return try TLSContext.client(
            trustFile: path("authority.pem"), alpn: alpn,
            certificateChainFile: certificate.map { _ in path("client.pem") },
            privateKeyFile: certificate.map { _ in path("client.key") })
    }
}
