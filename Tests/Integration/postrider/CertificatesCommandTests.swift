import Foundation
import PostriderCrypto
import PostriderNotifications
import PostriderTLS
import ProgramFixtures
import Testing

@testable import PostriderCommands
@testable import postrider

@Suite("postrider certificates")
struct CertificatesCommandTests {
    private let path = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path

    private func run(_ arguments: String...) async -> Int32 {
        await Commands.program.run(["certificates"] + arguments)
    }

    private func withFolder(_ body: (CertificateFolder) async throws -> Void) async throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        try await body(CertificateFolder(path))
    }

    private func mode(_ file: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
    }

    @Test(
        "makes what a relay and a provider need, with keys that only their owner reads, and never overwrites")
    func making() async throws {
        try await withFolder { folder in
            #expect(await run("make", path, "--name", "relay.example.net", "--topic", "com.example.app") == 0)
            for name in [CertificateFolder.Name.authority, .relay, .provider] {
                #expect(try mode(folder.certificate(name)) == 0o644 && mode(folder.key(name)) == 0o600)
            }
            let certificate = try String(contentsOfFile: folder.certificate(.relay), encoding: .utf8)
            let details = try #require(CertificateDetails(pem: certificate))
            #expect(details.alternativeNames.hasPrefix("relay.example.net, localhost, 127.0.0.1"))
            _ = try TLSContext.server(
                certificateChainFile: folder.certificate(.relay), privateKeyFile: folder.key(.relay),
                alpn: ["h2"], allowsMissingALPN: true, clientCertificates: .none)
            #expect(await run("make", path, "--name", "other.example.net") == 2)
            #expect(try String(contentsOfFile: folder.certificate(.relay), encoding: .utf8) == certificate)
        }
    }

    @Test("makes certificates of nodes for both ends of a link, lists and renews them")
    func nodes() async throws {
        try await withFolder { folder in
            #expect(await run("make", path, "--node", "a", "--node", "b.example", "--days", "10") == 0)
            #expect(await run("make", path, "--node", "a") == 2)
            #expect(await run("make", path, "--node", "A") == 2)
            #expect(try folder.list().map(\.name) == ["authority", "node-a", "node-b.example"])
            let certificate = folder.certificate(.node("b.example"))
            let before = try String(contentsOfFile: certificate, encoding: .utf8)
            #expect(try folder.renew(daysLeft: 30) == [.node("a"), .node("b.example")])
            #expect(try String(contentsOfFile: certificate, encoding: .utf8) != before)
            for purpose in ["sslserver", "sslclient"] {
                let (status, said) = try openssl(
                    "verify", "-x509_strict", "-CAfile", folder.certificate(.authority), "-purpose", purpose,
                    "-verify_hostname", "b.example", certificate)
                #expect(status == 0, "\(said)")
            }
        }
    }

    /// Runs openssl(1), and returns its exit status and its output.
    private func openssl(_ arguments: String...) throws -> (status: Int32, said: String) {
        let (status, said) = try ChildProgram.run("/usr/bin/openssl", arguments)
        return (status, said)
    }

    @Test(
        "makes certificates that the authority verifies: the relay's by each name, the provider's by its app"
    )
    func verifying() async throws {
        try await withFolder { folder in
            let topic = "org.example.chat"
            #expect(
                await run("make", path, "--name", "relay.test", "--name", "10.1.2.3", "--topic", topic) == 0)
            let trust = folder.certificate(.authority)
            for name in ["relay.test", "localhost"] {
                let (status, said) = try openssl(
                    "verify", "-CAfile", trust, "-purpose", "sslserver", "-verify_hostname", name,
                    folder.certificate(.relay))
                #expect(status == 0, "\(said)")
            }
            for address in ["10.1.2.3", "127.0.0.1", "::1"] {
                let (status, said) = try openssl(
                    "verify", "-CAfile", trust, "-purpose", "sslserver", "-verify_ip", address,
                    folder.certificate(.relay))
                #expect(status == 0, "\(said)")
            }
            let provider = folder.certificate(.provider)
            let (status, said) = try openssl("verify", "-CAfile", trust, "-purpose", "sslclient", provider)
            #expect(status == 0, "\(said)")
            #expect(try openssl("verify", "-CAfile", trust, "-purpose", "sslserver", provider).status != 0)
            _ = try TLSContext.client(
                trustFile: trust, alpn: ["h2"], certificateChainFile: provider,
                privateKeyFile: folder.key(.provider))
            let text = try String(contentsOfFile: provider, encoding: .utf8)
            let details = try #require(CertificateDetails(pem: text))
            #expect(details.userIdentifier == topic)
            let apples = details.extensions.filter { $0.identifier.hasPrefix("1.2.840.113635.100.6.3.") }
            #expect(apples.count == 3)
            for bytes in [".voip", ".complication"].map({ Array((topic + $0).utf8) }) {
                #expect(apples.contains { $0.der.contains(bytes) })
            }
        }
    }

    @Test("renews what has few days left and nothing else; mode and owner of the files stay")
    func renewing() async throws {
        try await withFolder { folder in
            #expect(await run("make", path, "--name", "relay.example.net", "--days", "20") == 0)
            #expect(await run("make", path, "--topic", "com.example.app", "--days", "90") == 0)
            let before = try folder.list()
            // Only root can give a file away.
            let owner = getuid() == 0 ? 65_534 : Int(getuid())
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o640, .ownerAccountID: owner], ofItemAtPath: folder.key(.relay))
            #expect(try folder.renew(daysLeft: 10) == [])
            #expect(try folder.renew(daysLeft: 30) == [.relay])
            let after = try folder.list()
            #expect(before.map(\.name) == ["authority", "relay", "provider"])
            #expect(after.map(\.names) == before.map(\.names))
            // A day begins to end within the second in which a certificate is made.
            for (days, left) in zip([3650, 20, 90], after.map(\.daysLeft)) { #expect(days - left <= 1) }
            let attributes = try FileManager.default.attributesOfItem(atPath: folder.key(.relay))
            #expect(attributes[.posixPermissions] as? Int == 0o640)
            #expect(attributes[.ownerAccountID] as? Int == owner)
        }
    }

    @Test("renews an authority that would end before what it signs, and keeps its key")
    func authority() async throws {
        try await withFolder { folder in
            #expect(
                await run("make", path, "--name", "a.example", "--days", "40", "--authority-days", "50") == 0)
            let key = try String(contentsOfFile: folder.key(.authority), encoding: .utf8)
            #expect(try folder.renew(daysLeft: 40) == [.relay])
            #expect(try folder.renew(daysLeft: 50) == [.authority, .relay])
            #expect(try String(contentsOfFile: folder.key(.authority), encoding: .utf8) == key)
        }
    }

    @Test("answers mistakes with a sentence: no folder, no certificate in it, a key alone, a number of days")
    func mistakes() async throws {
        try await withFolder { folder in
            #expect(await run("list", path) == 2)
            #expect(await run("renew", path) == 2)
            #expect(await run("make", path) == 2)
            #expect(await run("make", path, "--name", "a b") == 1)
            #expect(await run("make", path, "--name", "a", "--days", "0") == 2)
            #expect(await run("make", path, "--topic", "*") == 2)
            try "garbage".write(toFile: folder.certificate(.relay), atomically: true, encoding: .utf8)
            #expect(await run("list", path) == 1)
            try FileManager.default.removeItem(atPath: folder.certificate(.authority))
            #expect(await run("make", path, "--name", "a") == 1)
        }
    }
}
