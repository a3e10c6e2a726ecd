internal import CPostriderCrypto

/// ES256 (RFC 7518, section 3.4): ECDSA on P-256 with SHA-256, which signs provider tokens.
///
/// Keys are immutable values and may be used on every thread.
public enum ES256 {
    /// The signature scheme in which a P-256 key was used.
    public enum Scheme: Sendable {
        /// ES256 itself: SHA-256.
        case sha256
        /// SHA-512, with `r` and `s` padded to 66 bytes each as if the curve were P-521. The PHP library pushok signs
        /// in this way, and writes ES512 into the header of the token.
        case sha512

        fileprivate var digest: MessageDigest {
            switch self {
            case .sha256: SHA256.algorithm
            case .sha512: ES256.sha512
            }
        }

        /// The DER of a signature in this scheme's encoding; nil if the length or the padding is wrong.
        fileprivate func der(_ signature: Span<UInt8>) -> [UInt8]? {
            switch self {
            case .sha256 where signature.count == 64:
                return ES256.der(raw: signature)
            case .sha256:
                return signature.indices.map { signature[$0] }
            case .sha512:
                // Each half of 32 bytes follows 34 zero bytes.
                guard signature.count == 132 else { return nil }
                var raw: [UInt8] = []
                for index in signature.indices {
                    if index % 66 >= 34 {
                        raw.append(signature[index])
                    } else if signature[index] != 0 {
                        return nil
                    }
                }
                return ES256.der(raw: raw.span)
            }
        }
    }

    private static let sha512 = MessageDigest("SHA512")

    /// A public key, which verifies signatures.
    public struct PublicKey: Sendable {
        private let key: Key

        /// Reads a key from PEM, SubjectPublicKeyInfo (`BEGIN PUBLIC KEY`).
        ///
        /// - Throws: if the text contains no such key, or it is not on the curve P-256.
        public init(pem: String) throws(CryptoError) {
            let key = try Key.publicKey(pem: pem, name: "The text")
            try ES256.check(key)
            self.key = key
        }

        /// Reads a key from a point on P-256, uncompressed (X9.62): the byte 4 and two coordinates of 32 bytes.
        ///
        /// - Throws: if the bytes are no such point.
        public init(point: Span<UInt8>) throws(CryptoError) {
            guard point.count == 65, point[0] == 4 else {
                throw CryptoError(.local, "The point does not have the 65 bytes of an uncompressed one")
            }
            // SubjectPublicKeyInfo of id-ecPublicKey on prime256v1, up to the point (RFC 5480, section 2).
            var der: [UInt8] = [
                0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08,
                0x2A,
                0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
            ]
            for index in point.indices { der.append(point[index]) }
            key = try Key.publicKey(der: der, name: "The point")
        }

        fileprivate init(halfOf key: Key) { self.key = key }

        /// The key in PEM, SubjectPublicKeyInfo.
        public var pem: String { key.publicPEM }

        /// The SHA-256 digest of the key as SubjectPublicKeyInfo in DER, by which people compare keys:
        /// `openssl pkey -pubin -in FILE -outform DER | sha256sum`.
        public var fingerprint: SHA256Digest { SHA256.digest(key.publicDER.span) }

        /// Whether `signature` was made of `message` with the private half of this key.
        ///
        /// With ES256, exactly 64 bytes are `r ‖ s`, each in 1…n−1 (RFC 7518, section 3.4). Any other length is read
        /// as DER, as OpenSSL's tools write it, and only in its canonical encoding, so that a signature cannot be
        /// rewritten into another valid one. ``Scheme/sha512`` has only one encoding, of 132 bytes.
        public func isValidSignature(
            _ signature: Span<UInt8>, for message: Span<UInt8>, scheme: Scheme = .sha256
        ) -> Bool {
            guard let encoded = scheme.der(signature) else { return false }
            guard let context = unsafe EVP_MD_CTX_new() else { preconditionFailure("out of memory") }
            defer { unsafe EVP_MD_CTX_free(context) }
            let status = unsafe EVP_DigestVerifyInit(
                context, nil, scheme.digest.pointer, nil, key.pointer)
            precondition(status == 1, "a P-256 key can verify")
            let verdict = unsafe message.withUnsafeBufferPointer {
                unsafe EVP_DigestVerify(context, encoded, encoded.count, $0.baseAddress, $0.count)
            }
            ErrorQueue.clear()
            return verdict == 1
        }
    }

    /// A private key, which makes signatures.
    public struct PrivateKey: Sendable {
        private let key: Key

        /// Generates a new key.
        public static func generate() -> PrivateKey { PrivateKey(key: Key.generate()) }

        private init(key: Key) { self.key = key }

        /// Reads a key from PEM without a passphrase: PKCS#8 (`BEGIN PRIVATE KEY`, the content of a .p8 file) or SEC
        /// 1 (`BEGIN EC PRIVATE KEY`).
        ///
        /// - Throws: if the text contains no such key, or it is not on the curve P-256.
        public init(pem: String) throws(CryptoError) {
            let key = try Key.privateKey(pem: pem, name: "The text")
            try ES256.check(key)
            self.key = key
        }

        /// The key in PEM, PKCS#8, not encrypted.
        public var pem: String { key.privatePEM }

        /// The public half of the key.
        public var publicKey: PublicKey { PublicKey(halfOf: key) }

        /// The signature of `message`: 64 bytes, `r ‖ s`.
        public func signature(for message: Span<UInt8>) -> [UInt8] {
            guard let context = unsafe EVP_MD_CTX_new() else { preconditionFailure("out of memory") }
            defer { unsafe EVP_MD_CTX_free(context) }
            var encoded = [UInt8](repeating: 0, count: 72)
            var count = encoded.count
            let isReady = unsafe EVP_DigestSignInit(context, nil, SHA256.algorithm.pointer, nil, key.pointer)
            let status = unsafe message.withUnsafeBufferPointer {
                unsafe EVP_DigestSign(context, &encoded, &count, $0.baseAddress, $0.count)
            }
            precondition(isReady == 1 && status == 1, "a P-256 key can sign")
            return ES256.raw(der: encoded[..<count])
        }
    }

    fileprivate static func check(_ key: Key) throws(CryptoError) {
        guard key.isOnP256 else {
            throw CryptoError(.local, "The key is not one for ES256: it is not on the curve P-256")
        }
    }

    /// The canonical DER of `r ‖ s`.
    fileprivate static func der(raw: Span<UInt8>) -> [UInt8] {
        guard let signature = unsafe ECDSA_SIG_new() else { preconditionFailure("out of memory") }
        defer { unsafe ECDSA_SIG_free(signature) }
        unsafe raw.withUnsafeBufferPointer {
            let half = unsafe $0.baseAddress?.advanced(by: 32)
            _ = unsafe ECDSA_SIG_set0(
                signature, BN_bin2bn($0.baseAddress, 32, nil), BN_bin2bn(half, 32, nil))
        }
        var encoded = [UInt8](repeating: 0, count: 72)
        let count = unsafe encoded.withUnsafeMutableBufferPointer {
            var end = $0.baseAddress
            return unsafe i2d_ECDSA_SIG(signature, &end)
        }
        return Array(encoded[..<Int(count)])
    }

    /// The `r ‖ s` of a DER signature that OpenSSL made.
    fileprivate static func raw(der: ArraySlice<UInt8>) -> [UInt8] {
        var raw = [UInt8](repeating: 0, count: 64)
        unsafe der.withUnsafeBufferPointer { der in
            var start = der.baseAddress
            guard let signature = unsafe d2i_ECDSA_SIG(nil, &start, der.count) else {
                preconditionFailure("OpenSSL reads what it wrote")
            }
            defer { unsafe ECDSA_SIG_free(signature) }
            unsafe raw.withUnsafeMutableBufferPointer {
                unsafe BN_bn2binpad(ECDSA_SIG_get0_r(signature), $0.baseAddress, 32)
                unsafe BN_bn2binpad(ECDSA_SIG_get0_s(signature), $0.baseAddress?.advanced(by: 32), 32)
            }
        }
        return raw
    }
}
