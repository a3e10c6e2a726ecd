import PostriderCrypto
import Testing

@Suite("AES-SIV of one block") struct SyntheticIVTests {
    /// Vectors made with OpenSSL's own AES-SIV, which gives the results of the RFC's examples A.1 and A.2. (The
    /// examples have associated data, which our blocks never have.) The first key is that of A.1.
    static let vectors: [(key: [UInt8], plaintext: String, sealed: String)] = [
        (
            hex("fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0 f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"),
            "00112233445566778899aabbccddeeff",
            "f304f912863e303d5b540e5057c7010c 942ffaf45b0e5ca5fb9a56a5263bb065"
        ),
        (
            hex("fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0 f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"),
            "00000000000000000000000000000000",
            "564e1b92eae574669a6c6fdc40ea65dc 0a9fcd7254de2203ea39f4bfcccb47a7"
        ),
        (
            Array(0..<64), "00112233445566778899aabbccddeeff",
            "3fad6b23907982744cfdb0bd3297f63e de688a12ef4aab7f5ea59401f52946fb"
        ),
        (
            Array(0..<64), "ffffffffffffffffffffffffffffffff",
            "4fcdb1966ea88f16102c3a00ee97a718 13f0cfefd3f11296e2399f4d0d1e10ce"
        ),
        (
            Array(repeating: 0xFF, count: 64), "00000000000000000000000000000000",
            "df6a7fca399e040353c727dbd83cb75e 276f3ecdfaeff792fd1a2dc7a48cc367"
        ),
    ]

    /// Returns the bytes as 64-bit words in the machine's byte order.
    private func words(_ text: String) -> [UInt64] {
        let bytes = hex(text)
        return stride(from: 0, to: bytes.count, by: 8).map { start in
            (0..<8).reduce(0) { $0 | UInt64(bytes[start + $1]) << UInt64(8 * $1) }
        }
    }

    @Test("Sealing gives what OpenSSL's AES-SIV gives, with keys of both sizes", arguments: vectors)
    func knownAnswers(key: [UInt8], plaintext: String, sealed: String) throws {
        let cipher = try SyntheticIV(key: key)
        let input = SIMD2(words(plaintext))
        let output = SIMD4(words(sealed))
        #expect(cipher.seal(input) == output)
        #expect(cipher.open(output) == input)
        #expect(cipher.seal(input) == output)
    }

    @Test("A change of any one bit is found out")
    func forged() throws {
        let cipher = try SyntheticIV(key: Array(0..<64))
        let sealed = cipher.seal(SIMD2(1, 2))
        for bit in 0..<256 {
            var forged = sealed
            forged[bit / 64] ^= 1 << UInt64(bit % 64)
            #expect(cipher.open(forged) == nil)
        }
    }

    @Test("What another key sealed is not opened, whichever half differs")
    func otherKeys() throws {
        let sealed = try SyntheticIV(key: Array(0..<64)).seal(SIMD2(1, 2))
        for index in [0, 31, 32, 63] {
            var key = [UInt8](0..<64)
            key[index] ^= 1
            #expect(try SyntheticIV(key: key).open(sealed) == nil)
        }
    }

    @Test("Keys of other sizes are refused", arguments: [0, 16, 31, 48, 63, 65, 128])
    func keySizes(count: Int) {
        let error = #expect(throws: CryptoError.self) {
            _ = try SyntheticIV(key: [UInt8](repeating: 7, count: count))
        }
        #expect(error?.description == "A key for AES-SIV has 32 or 64 bytes, not \(count)")
    }
}
