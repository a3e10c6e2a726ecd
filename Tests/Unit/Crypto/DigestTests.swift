import PostriderCrypto
import Testing

@Suite("Digests, random bytes and comparisons") struct DigestTests {
    @Test(
        "SHA-256 gives the digests of FIPS 180-4",
        arguments: [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
            ),
        ])
    func digests(text: String, expected: String) {
        let digest = SHA256.digest(Array(text.utf8).span)
        #expect(digest.description == expected)
        #expect(digest.bytes == hex(expected))
        #expect(SHA256Digest(bytes: hex(expected)) == digest)
    }

    @Test("A hasher gives every text the digest that it has alone, the empty one included")
    func hasher() {
        let hasher = SHA256Hasher()
        for text in ["abc", "", String(repeating: "long ", count: 1000), "abc", "abc"] {
            let bytes = Array(text.utf8)
            #expect(hasher.digest(bytes.span) == SHA256.digest(bytes.span))
        }
    }

    @Test("A digest differs from every other by any one bit, and has 32 bytes")
    func equality() {
        let nothing = [UInt8]()
        let digest = SHA256.digest(nothing.span)
        for bit in 0..<256 {
            var words = digest.words
            words[bit / 64] ^= 1 << UInt64(bit % 64)
            #expect(SHA256Digest(words: words) != digest)
        }
        #expect(SHA256Digest(bytes: [UInt8](repeating: 0, count: 31)) == nil)
        #expect(SHA256Digest(bytes: [UInt8](repeating: 0, count: 33)) == nil)
    }

    @Test("Comparison in constant time is comparison")
    func comparison() {
        let secret = Array("secret".utf8)
        for (other, isSame) in [
            ("secret", true), ("secreT", false), ("Secret", false), ("secre", false), ("", false),
        ] {
            let isEqual = constantTimeEquals(secret.span, Array(other.utf8).span)
            #expect(isEqual == isSame)
        }
        let areEmptyEqual = constantTimeEquals([UInt8]().span, [UInt8]().span)
        #expect(areEmptyEqual)
    }

    @Test("Comparison in constant time looks at every bit of every byte")
    func everyBit() {
        for length in 1...40 {
            let secret = (0..<length).map { UInt8(truncatingIfNeeded: 37 * $0) }
            let isEqual = constantTimeEquals(secret.span, Array(secret).span)
            #expect(isEqual)
            for bit in 0..<8 * length {
                var other = secret
                other[bit / 8] ^= 1 << UInt8(bit % 8)
                let isStillEqual = constantTimeEquals(secret.span, other.span)
                #expect(!isStillEqual, "bit \(bit) of \(length) bytes")
            }
        }
    }

    @Test("Random numbers do not repeat within or across batches, nor between two sources")
    func entropy() {
        let sources = [Entropy(), Entropy()]
        let numbers = sources.flatMap { source in (0..<2_000).map { _ in source.next() } }
        #expect(Set(numbers).count == numbers.count)
        #expect(sources[0].bytes(0).isEmpty)
        #expect(sources[0].bytes(64).count == 64)
        #expect(sources[0].bytes(64) != sources[0].bytes(64))
    }
}
