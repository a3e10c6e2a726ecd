import Glibc
import PostriderCrypto
import PostriderTLS

/// A server's and a client's context with an authority of their own.
struct TestTLS {
    let server: TLSContext
    let client: TLSContext

    init() throws {
        let authority = try Certificates.makeAuthority(commonName: "Test authority", validDays: 1)
        let leaf = try Certificates.issue(
            commonName: "localhost", dnsNames: ["localhost"], ipAddresses: ["127.0.0.1"], usage: .server,
            validDays: 1, authority: authority)
        let folder = "/tmp/transport-tls-\(getpid())-\(UInt64.random(in: 0...UInt64.max))"
        unsafe mkdir(folder, 0o700)
        defer { unsafe rmdir(folder) }
        let files = ["chain", "key", "trust"].map { folder + "/" + $0 }
        for (file, text) in zip(files, [leaf.certificate, leaf.key, authority.certificate]) {
            let descriptor = unsafe open(file, O_CREAT | O_WRONLY, 0o600)
            _ = unsafe write(descriptor, text, text.utf8.count)
            close(descriptor)
        }
        defer { for file in files { unsafe unlink(file) } }
        server = try TLSContext.server(
            certificateChainFile: files[0], privateKeyFile: files[1], alpn: ["h2"], allowsMissingALPN: true,
            clientCertificates: .none)
        client = try TLSContext.client(
            trustFile: files[2], alpn: ["h2"], certificateChainFile: nil, privateKeyFile: nil)
    }
}
