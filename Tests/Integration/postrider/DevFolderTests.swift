import Foundation
import PostriderCrypto
import PostriderNotifications
import PostriderProviderAPI
import PostriderRelay
import PostriderTLS
import ProgramFixtures
import Testing

@testable import PostriderCommands
@testable import postrider

@Suite("The folder of postrider dev")
struct DevFolderTests {
    private let folder = DevFolder.fresh()

    private func withFolder(_ body: () throws -> Void) rethrows {
        defer { folder.remove() }
        try body()
    }

    private func contents() throws -> [String: Data] {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        return try Dictionary(
            uniqueKeysWithValues: names.map {
                ($0, try Data(contentsOf: URL(filePath: folder.path + "/" + $0)))
            })
    }

    @Test("is made once and stays as it is")
    func persistence() throws {
        try withFolder {
            let topics = [Topic("a.b")].compactMap(\.self)
            let first = try folder.prepare(topics: topics, now: Moment(milliseconds: 1))
            let made = try contents()
            #expect(
                made.keys.sorted() == [
                    "AuthKey_DEVKEY0001.p8", "authority.key", "authority.pem", "enrolment.key",
                    "provider-rsa.key", "provider-rsa.pem", "provider.key", "provider.pem",
                    "relay-expired.pem", "relay.key", "relay.pem",
                ])
            #expect(try folder.prepare(topics: topics, now: Moment(milliseconds: 1)) == first)
            #expect(try contents() == made)
        }
    }

    @Test("is open to its owner only")
    func modes() throws {
        try withFolder {
            _ = try folder.prepare(topics: [], now: Moment(milliseconds: 1))
            #expect(try mode(folder.path) == 0o700)
            for name in try contents().keys { #expect(try mode(folder.path + "/" + name) == 0o600) }
        }
    }

    @Test("has a certificate that a relay can show")
    func certificate() throws {
        try withFolder {
            _ = try folder.prepare(topics: [], now: Moment(milliseconds: 1))
            _ = try TLSContext.server(
                certificateChainFile: folder.certificateFile, privateKeyFile: folder.privateKeyFile,
                alpn: ["h2"],
                allowsMissingALPN: true, clientCertificates: .none)
            _ = try TLSContext.client(trustFile: folder.authorityFile, alpn: ["h2"])
        }
    }

    @Test("has a copy of the certificate that has expired, which is made again with it or if it is missing")
    func expiredCertificate() throws {
        try withFolder {
            func made(_ names: [String] = []) throws -> Data? {
                _ = try folder.prepare(topics: [], names: names, now: Moment(milliseconds: 1))
                return try contents()["relay-expired.pem"]
            }
            let first = try #require(try made())
            #expect(try made() == first)
            let context = try TLSContext.server(
                certificateChainFile: folder.expiredCertificateFile, privateKeyFile: folder.privateKeyFile,
                alpn: ["h2"], allowsMissingALPN: true, clientCertificates: .none)
            #expect(context.mistakeInCertificate()?.hasPrefix("has expired") == true)
            #expect(try made(["push.test"]) != first)
            try FileManager.default.removeItem(atPath: folder.expiredCertificateFile)
            #expect(try made() != nil)
        }
    }

    @Test("has a certificate for the names that it is given, and for those that it was given before")
    func names() throws {
        try withFolder {
            func made(_ names: [String]) throws -> Data? {
                _ = try folder.prepare(topics: [], names: names, now: Moment(milliseconds: 1))
                return try contents()["relay.pem"]
            }
            let plain = try made([])
            #expect(try made([]) == plain)
            let named = try made(["push.test", "192.0.2.1"])
            #expect(named != plain)
            #expect(try made(["192.0.2.1"]) == named)
            #expect(try made([]) == named)
            #expect(try made(["other.test"]) != named)
            let names = try FileText.read(folder.namesFile, "The names")
            #expect(names == "push.test\n192.0.2.1\nother.test\n")
        }
    }

    @Test("has a certificate for a provider, which is made anew only for a topic that it does not cover")
    func providerCertificate() throws {
        try withFolder {
            let topics = ["a.b", "a.c"].compactMap(Topic.init)
            _ = try folder.prepare(topics: Array(topics[..<1]), now: Moment(milliseconds: 1))
            let first = try contents()["provider.pem"]
            _ = try folder.prepare(topics: topics, now: Moment(milliseconds: 1))
            let second = try contents()["provider.pem"]
            #expect(first != second)
            _ = try folder.prepare(topics: Array(topics[1...]), now: Moment(milliseconds: 1))
            #expect(try contents()["provider.pem"] == second)
            let text = try FileText.read(folder.providerCertificateFile, "The certificate")
            let extensions = try #require(PushExtensions(certificate: text))
            #expect(extensions.isForDevelopment && extensions.isForProduction)
            #expect(
                extensions.topics == [
                    "a.b", "a.b.voip", "a.b.complication", "a.c", "a.c.voip", "a.c.complication",
                ])
            _ = try TLSContext.client(
                trustFile: folder.authorityFile, alpn: ["h2"],
                certificateChainFile: folder.providerCertificateFile,
                privateKeyFile: folder.providerCertificateKeyFile)
        }
    }

    @Test("has one with an RSA key, for libraries that load no other", .bug(id: "R23"))
    func rsaCertificate() throws {
        try withFolder {
            _ = try folder.prepare(topics: ["a.b"].compactMap(Topic.init), now: Moment(milliseconds: 1))
            let text = try FileText.read(folder.providerRSACertificateFile, "The certificate")
            #expect(PushExtensions(certificate: text)?.topics.first == "a.b")
            let (exitCode, said) = try ChildProgram.run(
                "/usr/bin/openssl", ["rsa", "-in", folder.providerRSACertificateFile, "-noout", "-text"])
            #expect(exitCode == 0 && said.contains("2048 bit"))
            _ = try TLSContext.client(
                trustFile: folder.authorityFile, alpn: ["h2"],
                certificateChainFile: folder.providerRSACertificateFile,
                privateKeyFile: folder.providerRSACertificateKeyFile)
        }
    }

    @Test("gets its missing certificate from the same authority, and says so when that is gone")
    func repair() throws {
        try withFolder {
            _ = try folder.prepare(topics: [], now: Moment(milliseconds: 1))
            let authority = try Data(contentsOf: URL(filePath: folder.authorityFile))
            try FileManager.default.removeItem(atPath: folder.certificateFile)
            _ = try folder.prepare(topics: [], now: Moment(milliseconds: 1))
            #expect(try Data(contentsOf: URL(filePath: folder.authorityFile)) == authority)

            try FileManager.default.removeItem(atPath: folder.certificateFile)
            try FileManager.default.removeItem(atPath: folder.path + "/authority.key")
            let error = #expect(throws: CommandFailure.self) {
                try folder.prepare(topics: [], now: Moment(milliseconds: 1))
            }
            #expect(error?.sentence.contains(folder.path + "/authority.key is not there") == true)
        }
    }

    @Test("makes every certificate anew when it has to make an authority")
    func newAuthority() throws {
        try withFolder {
            let topics = [Topic("a.b")].compactMap(\.self)
            _ = try folder.prepare(topics: topics, now: Moment(milliseconds: 1))
            let before = try contents()
            for name in ["authority.key", "authority.pem"] {
                try FileManager.default.removeItem(atPath: folder.path + "/" + name)
            }
            _ = try folder.prepare(topics: topics, now: Moment(milliseconds: 1))
            let after = try contents()
            for name in ["authority.pem", "relay.pem", "provider.pem"] {
                #expect(after[name] != before[name])
            }
            #expect(after["enrolment.key"] == before["enrolment.key"])
        }
    }

    @Test("keeps what other commands need to know")
    func values() throws {
        try withFolder {
            #expect(try DevValues.read(from: folder) == nil)
            _ = try folder.prepare(topics: [], now: Moment(milliseconds: 1))
            let values = DevValues(
                host: "127.0.0.1", providerPort: 1, developmentProviderPort: 4, devicePort: 2,
                authorityFile: "a b", keyFile: "k",
                keyIdentifier: "i", providerCertificateFile: "c", providerCertificateKeyFile: "ck", team: "t",
                topics: ["x.y"], enrolmentKey: "e", enrolmentKeyFile: "f",
                controlAddress: "unix:c", process: 3)
            try values.write(to: folder)
            #expect(try DevValues.read(from: folder) == values)
            #expect(values.guide(program: "postrider", folder: "o'f").contains("curl --http2 --cacert 'a b'"))
            #expect(
                values.guide(program: "postrider", folder: "o'f").contains(#"token --directory 'o'\''f'"#))
        }
    }

    private func mode(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }
}
