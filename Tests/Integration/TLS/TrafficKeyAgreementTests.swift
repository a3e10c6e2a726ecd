import Foundation
import PostriderTransport
import Testing

@testable import PostriderCrypto
@testable import PostriderTLS

@Suite("The traffic keys of both ends", .serialized) struct TrafficKeyAgreementTests {
    let certificates: TestCertificates

    init() throws { certificates = try TestCertificates() }

    @Test("Handshakes that cross each other on one thread all come to their keys")
    func crossing() throws {
        let server = try certificates.server()
        let client = try certificates.client()
        let pairs = try (0..<4).map { _ in try SocketPair(server, client) }
        var failure: CryptoError?
        // Each handshake is one step ahead of the one after it.
        for round in 0..<8 {
            for (place, pair) in pairs.enumerated() where place <= round {
                for stream in [pair.client, pair.server] { _ = pair.turn(stream, &failure) }
            }
        }
        #expect(failure == nil)
        for pair in pairs { try expectLeft(pair) }
    }

    @Test("A server that asks for a certificate comes to its keys behind it, and tells who it was")
    func clientCertificate() throws {
        let issued = try Certificates.issue(
            commonName: "provider", usage: .client, validDays: 1, authority: certificates.authority)
        let trust = TLSContext.ClientCertificates.requested(trustFile: certificates.path("authority.pem"))
        let pair = try SocketPair(
            certificates.server(clientCertificates: trust), certificates.client(certificate: issued))
        #expect(pair.handshake().server == nil)
        #expect(pair.server.peerCertificate?.isVerified == true)
        try expectLeft(pair)
    }

    @Test(
        "A stock client comes to the same keys in every suite, and by a second hello",
        arguments: [
            "-ciphersuites TLS_AES_128_GCM_SHA256", "-ciphersuites TLS_AES_256_GCM_SHA384",
            "-ciphersuites TLS_CHACHA20_POLY1305_SHA256", "-groups P-384:P-256", "-no_middlebox",
        ])
    func stockClient(options: String) throws {
        let words = options.split(separator: " ").map(String.init)
        let client = try ForeignClient(certificates.server(), in: certificates, words)
        #expect(try client.server.handshake(using: client.ciphers) == .complete)
        client.server.leaveHandshake(using: client.ciphers)
        #expect(client.server.hasLeftOpenSSL)
        client.type("hello")
        #expect(try client.read().1 == Array("hello\n".utf8))
        #expect(try client.write(Array("answer".utf8)) == .bytes(6))
        #expect(client.end().contains("answer"))
    }

    private func expectLeft(_ pair: SocketPair) throws {
        pair.server.leaveHandshake(using: pair.ciphers)
        #expect(pair.server.hasLeftOpenSSL)
        #expect(try pair.write([1, 2], to: pair.client) == .bytes(2))
        #expect(try pair.read(pair.server).1 == [1, 2])
        #expect(try pair.write([3], to: pair.server) == .bytes(1))
        #expect(try pair.read(pair.client).1 == [3])
    }
}
