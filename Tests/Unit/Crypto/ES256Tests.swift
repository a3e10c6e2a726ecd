import PostriderCrypto
import Testing

@Suite("ES256") struct ES256Tests {
    // RFC 7515, A.3: key, signing input, signature.
    static let publicPEM = """
        -----BEGIN PUBLIC KEY-----
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEf83OJ3D2xF1Bg8vub9tLe1gHMzV7
        6e8Tus9uPHvRVEXH8UTNG72bfocs3+257rn0s2ldbqkLJK2KRiMohYjlrQ==
        -----END PUBLIC KEY-----

        """
    static let pkcs8 = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgjpsQnnGQmL+YBIff
        H1136cspYG6+0iY7X1fCE9+E9LKhRANCAAR/zc4ncPbEXUGDy+5v20t7WAczNXvp
        7xO6z248e9FURcfxRM0bvZt+hyzf7bnuufSzaV1uqQskrYpGIyiFiOWt
        -----END PRIVATE KEY-----

        """
    static let sec1 = """
        -----BEGIN EC PRIVATE KEY-----
        MHcCAQEEII6bEJ5xkJi/mASH3x9dd+nLKWBuvtImO19XwhPfhPSyoAoGCCqGSM49
        AwEHoUQDQgAEf83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEXH8UTNG72b
        focs3+257rn0s2ldbqkLJK2KRiMohYjlrQ==
        -----END EC PRIVATE KEY-----

        """
    static let message = Array(
        ("eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLm"
            + "NvbS9pc19yb290Ijp0cnVlfQ").utf8)
    static let r = hex("0ed1215379636c483c2f7f155807d402a3b228033af97c7e17819ac3169ea665")
    static let s = hex("c50a07d38c3c70e5d8f12daf084a5480a66590c5f293509a8f3f7f8a83a354d5")
    static let order = hex("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551")
    static let zero = [UInt8](repeating: 0, count: 32)
    /// The DER encoding of r and s: r needs no leading zero, s does.
    static let der = [0x30, 69, 0x02, 32] + r + [0x02, 33, 0] + s

    static let signatures: [(name: String, signature: [UInt8], isValid: Bool)] = [
        ("raw", r + s, true),
        ("raw, one bit off", r + s.dropLast() + [0xD4], false),
        ("raw, exchanged", s + r, false),
        ("raw, too short", r + s.dropLast(), false),
        ("raw, too long", r + s + [0], false),
        ("raw, r = 0", zero + s, false),
        ("raw, s = 0", r + zero, false),
        ("raw, both 0", zero + zero, false),
        ("raw, r = n", order + s, false),
        ("raw, s = n", r + order, false),
        ("raw, all ones", [UInt8](repeating: 0xFF, count: 64), false),
        ("empty", [], false),
        ("DER", der, true),
        ("DER, a byte after it", der + [0], false),
        ("DER, a byte missing", der.dropLast(), false),
        ("DER, length in two bytes", [0x30, 0x81, 69] + der[2...], false),
        ("DER, indefinite length", [0x30, 0x80] + der[2...] + [0, 0], false),
        ("DER, r with a needless zero", [0x30, 70, 0x02, 33, 0] + der[4...], false),
        ("DER, s without its sign byte", [0x30, 68, 0x02, 32] + r + [0x02, 32] + s, false),
        ("DER, r only", [0x30, 34, 0x02, 32] + r, false),
        ("DER, r = 0", [0x30, 38, 0x02, 1, 0, 0x02, 33, 0] + s, false),
        ("DER, another tag", [0x31] + der[1...], false),
        ("not DER", Array("signature".utf8), false),
    ]

    @Test("The RFC's signature is valid raw and as canonical DER, and nothing else is", arguments: signatures)
    func verification(name: String, signature: [UInt8], isValid: Bool) throws {
        let key = try ES256.PublicKey(pem: Self.publicPEM)
        #expect(key.accepts(signature, of: Self.message) == isValid, "\(name)")
    }

    @Test("A signature of another message, or by another key, is not valid")
    func others() throws {
        let signature = Self.r + Self.s
        let key = try ES256.PublicKey(pem: Self.publicPEM)
        #expect(!key.accepts(signature, of: Self.message.dropLast()))
        #expect(!key.accepts(signature, of: []))
        let other = ES256.PrivateKey.generate().publicKey
        #expect(!other.accepts(signature, of: Self.message))
    }

    @Test("What a new key signs is 64 bytes and valid, of any message and through PEM")
    func roundTrip() throws {
        let key = ES256.PrivateKey.generate()
        let copy = try ES256.PublicKey(pem: key.publicKey.pem)
        for count in 0..<64 {
            let message = [UInt8](repeating: UInt8(count), count: count)
            let signature = key.signature(for: message.span)
            #expect(signature.count == 64)
            #expect(copy.accepts(signature, of: message))
        }
    }

    @Test(
        "A private key is read from PKCS#8 and from SEC 1, and written as PKCS#8", arguments: [pkcs8, sec1])
    func privateKeys(pem: String) throws {
        let key = try ES256.PrivateKey(pem: pem)
        #expect(key.pem == Self.pkcs8)
        #expect(key.publicKey.pem == Self.publicPEM)
    }

    static let p384 = (
        public: """
        -----BEGIN PUBLIC KEY-----
        MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAEKDwdc2XOR4jyn46/I07f/q1v6Zf76l/6
        LVjMnfp7HFCLBVJvVbnrsgQPBbSPttDhlHXJkGHkG4i6Uu/bjBaQRxph2GfteZcp
        2cks0B29IlYw2E7eMqePnmRmTNrFEu+M
        -----END PUBLIC KEY-----
        """,
        private: """
        -----BEGIN PRIVATE KEY-----
        MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDAAAAAAAAAAAAAAAAAA
        AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAehZANiAAQoPB1zZc5H
        iPKfjr8jTt/+rW/pl/vqX/otWMyd+nscUIsFUm9VueuyBA8FtI+20OGUdcmQYeQb
        iLpS79uMFpBHGmHYZ+15lynZySzQHb0iVjDYTt4yp4+eZGZM2sUS74w=
        -----END PRIVATE KEY-----
        """
    )
    static let secp256k1 = """
        -----BEGIN PUBLIC KEY-----
        MFYwEAYHKoZIzj0CAQYFK4EEAAoDQgAEXL3wZG5dtOqjmPNl8up6Dj1Bm34DMOOc
        6Svd7crE+bxq68pAuiVZYKMXjW2GGlTbqBPQuBP957WlCCYoCHJk2g==
        -----END PUBLIC KEY-----
        """
    static let ed25519 = """
        -----BEGIN PUBLIC KEY-----
        MCowBQYDK2VwAyEAA6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=
        -----END PUBLIC KEY-----
        """

    @Test("Keys on other curves are refused with a sentence", arguments: [p384.public, secp256k1, ed25519])
    func otherCurves(pem: String) {
        let error = #expect(throws: CryptoError.self) { _ = try ES256.PublicKey(pem: pem) }
        #expect(error?.description.contains("not on the curve P-256") == true)
    }

    @Test("A private key on another curve is refused with a sentence")
    func otherPrivateCurve() {
        let error = #expect(throws: CryptoError.self) { _ = try ES256.PrivateKey(pem: Self.p384.private) }
        #expect(error?.description.contains("not on the curve P-256") == true)
    }

    @Test("A text without a key, and a key of the other kind, is refused", arguments: ["", "hello"])
    func noKeys(pem: String) {
        for text in [pem, Self.pkcs8] {
            #expect(throws: CryptoError.self) { _ = try ES256.PublicKey(pem: text) }
        }
        for text in [pem, Self.publicPEM] {
            #expect(throws: CryptoError.self) { _ = try ES256.PrivateKey(pem: text) }
        }
    }
}

extension ES256.PublicKey {
    /// Returns the same as `isValidSignature`, for arrays.
    fileprivate func accepts(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        isValidSignature(signature.span, for: message.span)
    }
}
