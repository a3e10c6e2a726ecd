import Foundation
import PostriderCrypto
import PostriderTLS
import PostriderTransport
import Testing

@Suite("Files for TLS") struct TLSFilesTests {
    let certificates: TestCertificates

    init() throws {
        certificates = try TestCertificates()
        _ = try certificates.server()
    }

    private func failure(certificate: String = "server.pem", key: String = "server.key", trust: String? = nil)
        -> String
    {
        do throws(CryptoError) {
            _ = try TLSContext.server(
                certificateChainFile: certificates.path(certificate), privateKeyFile: certificates.path(key),
                alpn: ["h2"],
                allowsMissingALPN: true,
                clientCertificates: trust.map { .requested(trustFile: certificates.path($0)) } ?? .none)
            return "no failure"
        } catch {
            #expect(error.origin == .local)
            return error.description.replacingOccurrences(of: certificates.folder.path + "/", with: "")
        }
    }

    @Test("A certificate that no client takes says why")
    func useless() throws {
        let context = try certificates.server()
        let (now, day) = (Int(Date.now.timeIntervalSince1970), 86_400)
        #expect(context.mistakeInCertificate(at: now) == nil)
        #expect(context.mistakeInCertificate(at: now + 2 * day) == "has expired")
        #expect(context.mistakeInCertificate(at: now - 2 * day) == "is not valid yet")
        let issued = try Certificates.issue(
            commonName: "relay", dnsNames: ["localhost"], usage: .client, validDays: 1,
            authority: certificates.authority)
        try certificates.write("client", issued)
        let client = try TLSContext.server(
            certificateChainFile: certificates.path("client.pem"),
            privateKeyFile: certificates.path("client.key"),
            alpn: ["h2"],
            allowsMissingALPN: true, clientCertificates: .none)
        #expect(client.mistakeInCertificate(at: now) == "is not for a server")
    }

    @Test("A missing file is named, with what it was for and what to do")
    func missing() {
        let rest = "No such file or directory; name a file that is there and that this user may read"
        #expect(failure(certificate: "a") == "The certificate a cannot be read: \(rest)")
        #expect(failure(key: "b") == "The private key b cannot be opened: \(rest)")
        #expect(failure(trust: "c") == "The trust file c cannot be read: \(rest)")
    }

    @Test(
        "A private key that others could read or write is refused",
        arguments: [
            (0o604, "can be read by everybody; run chmod o= on it"),
            (0o602, "can be changed by everybody; run chmod o-w on it"),
            (0o601, "can be read by everybody; run chmod o= on it"),
        ])
    func permissions(mode: Int, reason: String) throws {
        try FileManager.default.setAttributes(
            [.posixPermissions: mode], ofItemAtPath: certificates.path("server.key"))
        #expect(failure() == "The private key server.key \(reason)")
    }

    @Test("A private key behind a link is read, one in a folder's place is refused", .bug(id: "R8"))
    func kinds() throws {
        try FileManager.default.createSymbolicLink(
            atPath: certificates.path("link"), withDestinationPath: certificates.path("server.key"))
        #expect(failure(key: "link") == "no failure")
        #expect(failure(key: ".").hasSuffix("is not a regular file"))
    }

    @Test("A chain in the wrong order, or with the root in front, is told by its place", .bug(id: "R9"))
    func order() throws {
        let own = try String(contentsOfFile: certificates.path("server.pem"), encoding: .utf8)
        let root = certificates.authority.certificate
        let stranger = try Certificates.makeAuthority(commonName: "another", validDays: 1).certificate
        let order =
            "put the certificate of the private key first, and behind each certificate the one that issued it"
        _ = try certificates.write("chain", own + root)
        #expect(failure(certificate: "chain") == "no failure")
        _ = try certificates.write("chain", root + own)
        #expect(
            failure(certificate: "chain")
                == "In the certificate file chain the certificate of the private key is the second and not "
                + "the first: \(order)")
        _ = try certificates.write("chain", own + stranger)
        #expect(
            failure(certificate: "chain").hasPrefix(
                "In the certificate file chain the second certificate did not issue the first ("))
        _ = try certificates.write("chain", own + root + stranger)
        #expect(
            failure(certificate: "chain").hasPrefix(
                "In the certificate file chain the third certificate did not issue the second ("))
        #expect(failure(certificate: "chain").hasSuffix(order))
    }

    @Test("A key of another certificate is refused, and both files are named")
    func mismatch() throws {
        _ = try certificates.write("other.key", certificates.authority.key)
        #expect(
            failure(key: "other.key").hasPrefix("The private key other.key is not the one of the certificate")
        )
        #expect(failure(key: "other.key").contains("server.pem"))
    }

    @Test("A file that holds something else is named")
    func malformed() throws {
        _ = try certificates.write("text", "hello")
        #expect(
            failure(certificate: "text").hasPrefix("The certificate text holds no usable certificate in PEM"))
        #expect(failure(key: "text").hasPrefix("The private key text holds no private key in PEM"))
        #expect(failure(trust: "text").hasPrefix("The trust file text holds no certificate in PEM"))
    }

    @Test("A key with a passphrase is refused without asking for it")
    func passphrase() throws {
        _ = try certificates.write(
            "locked.key",
            """
            -----BEGIN ENCRYPTED PRIVATE KEY-----
            MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAgAK4zaDE1ISAICCAAw
            DAYIKoZIhvcNAgkFADAdBglghkgBZQMEAQIEEGJOql8sDvAn/MH8vlRlfekEgZC+
            z7weF2/zRtHlRvkv4XoTnL/ZG6B01KQpOcDiNNP6rPupfTHZvXPerps/E2eeTI0H
            Ih2krSM0Dtr7LANqqZtxCcjXIuXz/xpeybV7ermhi8yVKxGXyMysmbQAZcLOwSYK
            uAU7JAjYbRHIz3ZaJLGOOxch+KgzFZsXMIod43WXKIWvHN59YF5NvO+oq31PwJo=
            -----END ENCRYPTED PRIVATE KEY-----

            """)
        #expect(failure(key: "locked.key").contains("without a passphrase"))
    }

    @Test("A client's certificate and its key come together or not at all")
    func halfIdentity() {
        for (certificate, key) in [
            (certificates.path("server.pem"), nil), (nil, certificates.path("server.key")),
        ] {
            #expect(throws: CryptoError.self) {
                _ = try TLSContext.client(
                    trustFile: nil, alpn: [], certificateChainFile: certificate, privateKeyFile: key)
            }
        }
    }
}
