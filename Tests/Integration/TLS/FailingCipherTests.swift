import CPostriderSSL
import PostriderCrypto
import PostriderTransport
import Testing

@testable import PostriderTLS

@Suite("A call of OpenSSL that fails") struct FailingCipherTests {
    /// The contexts of a thread whose OpenSSL lacks one cipher.
    private let ciphers = AEADContexts(cipherName: { $0 == .aes256GCM ? "no such cipher" : $0.cipherName })

    @Test("ends the stream that needs it, with internal_error, and no other of its thread")
    func oneStream() throws {
        let (healthyPeer, healthy) = try RecordPeer.pair(.aes128GCM)
        let (peer, server) = try RecordPeer.pair(.aes256GCM)
        let record = try peer.record([7, 23])
        let error = #expect(throws: RecordViolation.self) { _ = try server.take(record, ciphers) }
        #expect(error?.alert == .internalError && error?.isOurs == true)
        #expect(throws: RecordViolation.self) { _ = try server.say([1], ciphers) }
        #expect(try healthy.take(healthyPeer.record([7, 23]), ciphers)?.1 == [7])
        var said = try healthy.say([9], ciphers)
        #expect(try healthyPeer.open(&said) == [9, 23])
    }

    @Test(
        "is this side's fault, in reading and in writing, and the stream is over", arguments: [false, true])
    func stream(writing: Bool) throws {
        let certificates = try TestCertificates()
        let client = try certificates.client()
        #expect(unsafe SSL_CTX_set_ciphersuites(client.pointer, "TLS_AES_256_GCM_SHA384") == 1)
        let pair = try SocketPair(certificates.server(), client)
        let outcome = pair.handshake()
        #expect(outcome.server == nil && outcome.client == nil)
        pair.server.leaveHandshake(using: pair.ciphers)
        #expect(pair.server.hasLeftOpenSSL)
        _ = try pair.write([1], to: pair.client)
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let error = #expect(throws: CryptoError.self) {
            if writing {
                _ = try pair.server.write([2].span, using: ciphers)
            } else {
                var span = buffer.mutableSpan
                _ = try pair.server.read(into: &span, using: ciphers)
            }
        }
        #expect(error?.origin == .local && error?.name == "internal_error")
        #expect(try pair.write([3], to: pair.server) == .endOfStream)
        #expect(try pair.read(pair.server).0 == .endOfStream)
    }
}
