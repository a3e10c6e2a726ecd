import PostriderCrypto
import PostriderTLS
import PostriderTransport
import Testing

@Suite("TLS handshakes") struct TLSHandshakeTests {
    let certificates: TestCertificates

    init() throws { certificates = try TestCertificates() }

    @Test("Two of us speak TLS 1.3, agree on h2, and no certificate is asked for")
    func modern() throws {
        let pair = try SocketPair(certificates.server(), certificates.client())
        let outcome = pair.handshake()
        #expect(outcome.server == nil && outcome.client == nil)
        for stream in [pair.server, pair.client] {
            #expect(stream.version == "TLSv1.3")
            #expect(stream.negotiatedProtocol == "h2")
            #expect(stream.cipher.hasPrefix("TLS_"))
        }
        #expect(pair.server.peerCertificate == nil)
        #expect(
            pair.client.peerCertificate.flatMap { CertificateDetails(der: $0.der) }?.commonName == "relay")
        #expect(pair.client.peerCertificate?.isVerified == true)
    }

    @Test(
        "h2 is chosen if offered, no offer is served if allowed, any other offer is refused by an alert",
        arguments: [
            (["h2"], true, "h2"), (["http/1.1", "h2"], true, "h2"), ([], true, "none"),
            ([], false, "refused"),
            (["http/1.1"], true, "refused"), (["http/1.1"], false, "refused"), (["h2"], false, "h2"),
        ])
    func protocols(offer: [String], allowsMissing: Bool, expected: String) throws {
        let pair = try SocketPair(
            certificates.server(allowsMissingALPN: allowsMissing), certificates.client(alpn: offer))
        let outcome = pair.handshake()
        if expected == "refused" {
            #expect(outcome.server?.origin == .peer)
            #expect(outcome.client?.description.contains("no application protocol") == true)
        } else {
            #expect(outcome.server == nil && outcome.client == nil)
            #expect(pair.server.negotiatedProtocol ?? "none" == expected)
        }
    }

    @Test("A trusted client certificate is reported as verified, with the topic in its UID")
    func trustedClient() throws {
        let issued = try Certificates.issue(
            commonName: "Push: com.example.app", userIdentifier: "com.example.app", usage: .client,
            validDays: 1,
            authority: certificates.authority)
        let certificate = try #require(try reported(issued))
        #expect(certificate.isVerified)
        let details = try #require(CertificateDetails(der: certificate.der))
        #expect(details == CertificateDetails(pem: issued.certificate))
        #expect(details.userIdentifier == "com.example.app")
        #expect(details.commonName == "Push: com.example.app")
    }

    @Test(
        "A client certificate of a stranger or wrong usage completes the handshake but is not verified"
    )
    func untrustedClient() throws {
        let stranger = try Certificates.makeAuthority(commonName: "Test authority", validDays: 1)
        let strange = try Certificates.issue(
            commonName: "provider", usage: .client, validDays: 1, authority: stranger)
        let misused = try Certificates.issue(
            commonName: "provider", usage: .server, validDays: 1, authority: certificates.authority)
        for issued in [strange, misused, stranger] {
            let certificate = try #require(try reported(issued))
            #expect(!certificate.isVerified)
            #expect(CertificateDetails(der: certificate.der)?.commonName != nil)
        }
    }

    @Test("A client without a certificate is served where one is requested")
    func missingClientCertificate() throws {
        #expect(try reported(nil) == nil)
    }

    /// Returns the server's report about a client with this certificate.
    private func reported(_ issued: Certificates.Issued?) throws -> PeerCertificate? {
        let trust = TLSContext.ClientCertificates.requested(trustFile: certificates.path("authority.pem"))
        let pair = try SocketPair(
            certificates.server(clientCertificates: trust), certificates.client(certificate: issued))
        let outcome = pair.handshake()
        #expect(outcome.server == nil && outcome.client == nil)
        return pair.server.peerCertificate
    }

    @Test(
        "A client accepts the names and addresses in the server's certificate, and no other",
        arguments: [
            ("localhost", true), ("LOCALHOST", true), ("127.0.0.1", true), ("::1", true),
            ("127.0.0.2", false),
            ("example.com", false), ("relay", false),
        ])
    func serverNames(name: String, isAccepted: Bool) throws {
        let outcome = try SocketPair(certificates.server(), certificates.client(), serverName: name)
            .handshake()
        #expect((outcome.client == nil) == isAccepted)
        if !isAccepted {
            #expect(
                outcome.client?.description.hasSuffix("mismatch); name the server as its certificate does")
                    == true)
        }
    }

    @Test("A client refuses the certificate of an authority that it does not trust, and says why")
    func untrustedServer() throws {
        let stranger = try TestCertificates()
        let outcome = try SocketPair(stranger.server(), certificates.client()).handshake()
        #expect(outcome.client?.origin == .peer)
        #expect(
            outcome.client?.description
                == "The TLS handshake failed: certificate verify failed "
                + "(unable to get local issuer certificate); name the file of the authority that issued it")
        #expect(outcome.server != nil)
    }

    @Test("An empty server name, and one with a zero byte, is refused")
    func badServerName() throws {
        for name in ["", "localhost\0.example.com"] {
            #expect(throws: CryptoError.self) {
                _ = try TLSStream(context: certificates.client(), descriptor: 0, serverName: name)
            }
        }
    }
}
