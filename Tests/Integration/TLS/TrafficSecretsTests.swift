import CPostriderSSL
import PostriderTransport
import Testing

@testable import PostriderCrypto
@testable import PostriderTLS

@Suite("The traffic secrets that OpenSSL reports") struct TrafficSecretsTests {
    private let ciphers = AEADContexts()
    private static let random = [UInt8](repeating: 0xAB, count: 32)
    private static let randomDigits = String(repeating: "ab", count: 32)
    private static let client =
        "CLIENT_TRAFFIC_SECRET_0 \(randomDigits) \(String(repeating: "01", count: 32))"
    private static let server =
        "SERVER_TRAFFIC_SECRET_0 \(randomDigits) \(String(repeating: "02", count: 32))"

    /// Returns whether a record layer gets its keys from these lines.
    private func hasKeys(
        _ lines: [String], _ suite: RecordSuite = .aes128GCM, random: [UInt8] = Self.random
    ) -> Bool {
        let secrets = Self.secrets(lines, random: random)
        return secrets.records(suite, contentLimit: 512, ciphers.derivation) != nil
    }

    private static func secrets(_ lines: [String], random: [UInt8] = random) -> TrafficSecrets {
        let secrets = TrafficSecrets()
        for line in lines {
            unsafe Array(line.utf8).withUnsafeBufferPointer { line in
                unsafe random.withUnsafeBufferPointer { unsafe secrets.take(line: line, random: $0) }
            }
        }
        return secrets
    }

    @Test("The two lines of the key log become the keys of both directions")
    func keys() throws {
        let secrets = Self.secrets([Self.server, "EXPORTER_SECRET x y", Self.client])
        let layer = try #require(secrets.layer(ciphers))
        let (peer, _) = try RecordPeer.pair(.aes128GCM)
        #expect(try layer.take(peer.record([7, 23]), ciphers)?.1 == [7])
        var said = try layer.say([9], ciphers)
        #expect(try peer.open(&said) == [9, 23])
    }

    @Test("A suite with SHA-384 has longer secrets, and a secret of another length is not used")
    func lengths() {
        let long = [Self.client, Self.server].map { $0 + String(repeating: "03", count: 16) }
        #expect(hasKeys(long, .aes256GCM))
        #expect(!hasKeys(long))
        #expect(!hasKeys([Self.client, Self.server], .aes256GCM))
    }

    @Test("One line is not enough")
    func missing() {
        #expect(!hasKeys([]))
        #expect(!hasKeys([Self.client]))
        #expect(!hasKeys([Self.server]))
    }

    @Test(
        "A line that is not as the format says makes the stream stay with OpenSSL",
        arguments: [
            client.replacing(" ab", with: " AB", maxReplacements: 1), client + " ", client + "0",
            client + "00", String(client.dropLast(2)), String(client.dropLast(16)),
            "CLIENT_TRAFFIC_SECRET_0 ",
            client.replacing("01", with: "0g"), client.replacing(" ", with: "  "),
            client + String(repeating: "01", count: 17), "CLIENT_TRAFFIC_SECRET_0 \(randomDigits)",
        ])
    func malformed(line: String) {
        #expect(hasKeys([Self.client, Self.server]))
        #expect(!hasKeys([line, Self.server]))
        // A valid line after it does not make up for the invalid one.
        #expect(!hasKeys([line, Self.client, Self.server]))
    }

    @Test("A secret of another handshake is not taken, nor is a second one")
    func foreign() {
        #expect(!hasKeys([Self.client, Self.server], random: [UInt8](repeating: 0xAC, count: 32)))
        #expect(!hasKeys([Self.client, Self.server, Self.client]))
    }

    @Test("Where OpenSSL reports no secrets, a stream stays with OpenSSL's records, and goes on")
    func unreported() throws {
        let certificates = try TestCertificates()
        let context = try certificates.server()
        unsafe SSL_CTX_set_keylog_callback(context.pointer, nil)
        try expectOpenSSL(SocketPair(context, certificates.client()))
    }

    @Test("With `tls-records: openssl` a stream stays with OpenSSL's records")
    func switchedOff() throws {
        let certificates = try TestCertificates()
        let context = try certificates.server(records: .openssl)
        #expect(unsafe SSL_CTX_get_keylog_callback(context.pointer) == nil)
        try expectOpenSSL(SocketPair(context, certificates.client()))
    }

    private func expectOpenSSL(_ pair: SocketPair) throws {
        let outcome = pair.handshake()
        #expect(outcome.server == nil && outcome.client == nil)
        pair.server.leaveHandshake(using: pair.ciphers)
        #expect(!pair.server.hasLeftOpenSSL)
        #expect(try pair.write([1, 2], to: pair.client) == .bytes(2))
        #expect(try pair.read(pair.server).1 == [1, 2])
        #expect(try pair.write([3], to: pair.server) == .bytes(1))
        #expect(try pair.read(pair.client).1 == [3])
    }
}

extension TrafficSecrets {
    /// Returns the record layer of AES-128-GCM with these keys; nil if there are none.
    fileprivate func layer(_ ciphers: AEADContexts) -> ServerRecords? {
        guard let layer = records(.aes128GCM, contentLimit: 16_384, ciphers.derivation) else { return nil }
        return ServerRecords(layer)
    }
}
