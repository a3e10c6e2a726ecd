import PostriderTransport
import Testing

@testable import PostriderCrypto
@testable import PostriderTLS

@Suite("Keys that are derived") struct KeyDerivationTests {
    private let derivation = KeyDerivation()

    private func expand(
        _ secret: [UInt8], _ label: StaticString, _ count: Int, digest: StaticString = "SHA2-256"
    ) throws -> [UInt8] {
        let from = SecretBytes(count: secret.count)
        let to = SecretBytes(count: count)
        let bytes = unsafe from[0..<secret.count]
        _ = unsafe bytes.update(fromContentsOf: secret)
        try unsafe derivation.expand(bytes, label, digest: digest, into: to[0..<count])
        return unsafe Array(to[0..<count])
    }

    @Test("The key and the initialization vector of RFC 8448, 3 follow to the byte")
    func published() throws {
        let traffic = hex("b3eddb126e067f35a780b3abf45e2d8f3b1a950738f52e9600746a0e27a55a21")
        for _ in 0..<2 {
            #expect(try expand(traffic, "key", 16) == hex("dbfaa693d1762c5b666af5d950258d01"))
            #expect(try expand(traffic, "iv", 12) == hex("5bd3c71b836e0b76bb73265f"))
        }
    }

    /// RFC 8448, section 5, does not print the server's application traffic secret, nor the secret after its
    /// KeyUpdate. ``TLSPolicyTests/leaving(suite:)`` compares them with the results of `openssl s_client`.
    @Test("Each secret, label and length comes to other bytes")
    func distinct() throws {
        let secrets = [UInt8(1), 2].map { [UInt8](repeating: $0, count: 48) }
        var seen: Set<[UInt8]> = []
        for secret in secrets {
            for label in ["key", "iv", "traffic upd"] as [StaticString] {
                for count in [12, 16, 48] {
                    let bytes = try expand(secret, label, count, digest: "SHA2-384")
                    #expect(seen.insert(bytes).inserted && bytes.count == count)
                }
            }
        }
    }

    @Test("A hash that OpenSSL does not have is an error, and the next derivation works")
    func unknownHash() throws {
        let secret = [UInt8](repeating: 1, count: 32)
        let error = #expect(throws: RecordViolation.self) { try expand(secret, "key", 16, digest: "SHA9") }
        #expect(error?.alert == .internalError)
        #expect(try expand(secret, "key", 16).count == 16)
    }
}
