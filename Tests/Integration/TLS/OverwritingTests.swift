import CPostriderSSL
import PostriderTransport
import Testing

@testable import PostriderTLS

/// Searches OpenSSL's memory, and each block that it frees, for keys. The library accepts allocation functions only
/// once, before its first use, therefore each of these tests is its own process.
@Suite("Keys that come to their end") struct OverwritingTests {
    @Test("The secret of a traffic key is overwritten before its memory is freed, after an update as well")
    func secret() async {
        await #expect(processExitsWith: .success) {
            OpenSSLMemory.watch()
            let ciphers = AEADContexts()
            let secret = [UInt8](repeating: 0xA5, count: 32)
            OpenSSLMemory.look(for: secret)
            do {
                var key = try TrafficKey.of(secret, .aes128GCM, ciphers)
                #expect(OpenSSLMemory.blocksWithPattern == 1)
                try key.advance(ciphers.derivation)
                #expect(OpenSSLMemory.blocksWithPattern == 0)
                try key.advance(ciphers.derivation)
            }
            let other = try TrafficKey.of(secret, .chaCha20Poly1305, ciphers)
            #expect(OpenSSLMemory.blocksWithPattern == 1)
            _ = consume other
            #expect(OpenSSLMemory.freedBlocks > 2)
            #expect(OpenSSLMemory.blocksWithPattern == 0)
            #expect(OpenSSLMemory.freedBlocksWithPattern == 0)
        }
    }

    @Test("When a stream has ended its key is nowhere, in the contexts of its thread neither")
    func stream() async {
        await #expect(processExitsWith: .success) {
            OpenSSLMemory.watch()
            let ciphers = AEADContexts()
            for suite in RecordSuite.allCases {
                do {
                    let (peer, server) = try RecordPeer.pair(suite, ciphers: ciphers)
                    OpenSSLMemory.look(for: unsafe Array(peer.sending.key))
                    #expect(try server.take(peer.record([7, 23]), ciphers)?.1 == [7])
                    // The keys of both ends, and their copies in the contexts of this thread.
                    #expect(OpenSSLMemory.blocksWithPattern == 4, "\(suite)")
                }
                #expect(OpenSSLMemory.blocksWithPattern == 2, "\(suite)")
                ciphers.forgetKeys()
                #expect(OpenSSLMemory.blocksWithPattern == 2, "nothing has ended, as far as it knows")
                ciphers.noteOldKey()
                ciphers.forgetKeys()
                #expect(OpenSSLMemory.blocksWithPattern == 0, "\(suite)")
                #expect(OpenSSLMemory.freedBlocks > 0)
                #expect(OpenSSLMemory.freedBlocksWithPattern == 0, "\(suite)")
            }
        }
    }

    @Test("The secrets that OpenSSL reports are overwritten with the stream's handshake")
    func reported() async {
        await #expect(processExitsWith: .success) {
            OpenSSLMemory.watch()
            let secret = [UInt8](repeating: 0xA5, count: 32)
            OpenSSLMemory.look(for: secret)
            do {
                let secrets = TrafficSecrets()
                let digits = String(repeating: "ab", count: 32)
                let line = "CLIENT_TRAFFIC_SECRET_0 \(digits) \(String(repeating: "a5", count: 32))"
                let random = [UInt8](repeating: 0xAB, count: 32)
                unsafe Array(line.utf8).withUnsafeBufferPointer { line in
                    unsafe random.withUnsafeBufferPointer { unsafe secrets.take(line: line, random: $0) }
                }
                #expect(OpenSSLMemory.blocksWithPattern == 1)
            }
            #expect(OpenSSLMemory.freedBlocks > 0)
            #expect(OpenSSLMemory.blocksWithPattern == 0)
            #expect(OpenSSLMemory.freedBlocksWithPattern == 0)
        }
    }

    @Test("Memory that is freed as it is would be noticed")
    func control() async {
        await #expect(processExitsWith: .success) {
            OpenSSLMemory.watch()
            let pattern = [UInt8](repeating: 0xA5, count: 16)
            OpenSSLMemory.look(for: pattern)
            let block = unsafe CRYPTO_zalloc(64, #fileID, 1)
            unsafe block?.copyMemory(from: pattern, byteCount: 16)
            #expect(OpenSSLMemory.blocksWithPattern == 1)
            unsafe CRYPTO_free(block, #fileID, 1)
            #expect(OpenSSLMemory.freedBlocksWithPattern == 1)
        }
    }
}
