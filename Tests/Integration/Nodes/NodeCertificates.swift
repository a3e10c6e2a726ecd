import Foundation
import PostriderCrypto
import PostriderTLS

/// Certificates of nodes in a folder of their own, which is removed with this object.
final class NodeCertificates {
    private let folder: URL
    private let authority: Certificates.Issued

    init() throws {
        folder = FileManager.default.temporaryDirectory
            .appending(path: "postrider-nodes-" + UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        authority = try Certificates.makeAuthority(commonName: "Cluster", validDays: 2)
        _ = try write("authority.pem", authority.certificate)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    private func write(_ name: String, _ text: String) throws -> String {
        let file = folder.appending(path: name)
        try Data(text.utf8).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
        return file.path
    }

    /// The contexts with which a node accepts links, and with which it opens them.
    ///
    /// - Parameters:
    ///   - name: the name in its certificate.
    ///   - issuer: what has issued the certificate; the authority of the cluster if nil.
    ///   - validDays: below 1, it has expired.
    func contexts(
        of name: String, by issuer: Certificates.Issued? = nil, usage: Certificates.Usage = .node
    ) throws -> (server: TLSContext, client: TLSContext) {
        let issued = try Certificates.issue(
            commonName: name, dnsNames: [name], usage: usage, validDays: 1, authority: issuer ?? authority)
        let certificate = try write("\(name)-\(UUID().uuidString).pem", issued.certificate)
        let key = try write("\(name)-\(UUID().uuidString).key", issued.key)
        let trusted = folder.appending(path: "authority.pem").path
        return (
            try TLSContext.server(
                certificateChainFile: certificate, privateKeyFile: key, alpn: ["h2"],
                allowsMissingALPN: false, clientCertificates: .requested(trustFile: trusted)),
            try TLSContext.client(
                trustFile: trusted, alpn: ["h2"], certificateChainFile: certificate, privateKeyFile: key)
        )
    }
}
