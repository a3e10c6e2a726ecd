internal import COpenSSL

/// What one side seals its records with: a secret, and the key that follows from it (RFC 8446, 7.3).
struct TrafficKey {
    /// Room for the secret of the largest hash.
    typealias Secret = InlineArray<48, UInt8>
    typealias Nonce = InlineArray<12, UInt8>

    private var secret: Secret
    private(set) var key = InlineArray<32, UInt8>(repeating: 0)
    private var iv = Nonce(repeating: 0)
    /// How many records were sealed or opened with it.
    private(set) var records: UInt64 = 0

    /// The key that follows from a secret.
    init(_ secret: Secret, _ suite: RecordSuite) {
        self.secret = secret
        derive(suite)
    }

    /// What the next record is sealed with besides the key: its number, mixed into the initial vector (section 5.3). No
    /// two records have the same.
    mutating func takeNonce() -> Nonce {
        var nonce = iv
        for place in 0..<8 { nonce[11 - place] ^= UInt8(truncatingIfNeeded: records >> UInt64(8 * place)) }
        records += 1
        return nonce
    }

    /// Goes on to the next key, from which nobody finds back to this one (section 7.2).
    mutating func advance(_ suite: RecordSuite) {
        var next = Secret(repeating: 0)
        unsafe withUnsafeMutableBytes(of: &next) {
            unsafe expand(
                "traffic upd", suite,
                into: UnsafeMutableRawBufferPointer(rebasing: $0.prefix(suite.secretBytes)))
        }
        secret = next
        unsafe withUnsafeMutableBytes(of: &next) { unsafe OPENSSL_cleanse($0.baseAddress, $0.count) }
        derive(suite)
    }

    /// Overwrites all of it, in a way that no compiler takes for useless.
    mutating func forget() {
        unsafe withUnsafeMutableBytes(of: &self) { unsafe OPENSSL_cleanse($0.baseAddress, $0.count) }
    }

    private mutating func derive(_ suite: RecordSuite) {
        let source = self
        unsafe withUnsafeMutableBytes(of: &key) {
            unsafe source.expand(
                "key", suite, into: UnsafeMutableRawBufferPointer(rebasing: $0.prefix(suite.keyBytes)))
        }
        unsafe withUnsafeMutableBytes(of: &iv) { unsafe source.expand("iv", suite, into: $0) }
        records = 0
    }

    /// HKDF-Expand-Label (section 7.1) of no more bytes than the hash has: of such HKDF is one HMAC (RFC 5869, 2.3).
    private func expand(
        _ label: String, _ suite: RecordSuite, into output: UnsafeMutableRawBufferPointer
    ) {
        var information =
            [0, UInt8(output.count), UInt8(6 + label.utf8.count)] + Array("tls13 \(label)".utf8)
        information += [0, 1]
        var derived = InlineArray<64, UInt8>(repeating: 0)
        var count: UInt32 = 0
        unsafe withUnsafeBytes(of: secret) { secret in
            unsafe withUnsafeMutableBytes(of: &derived) { derived in
                let start = unsafe derived.bindMemory(to: UInt8.self).baseAddress
                let result = unsafe HMAC(
                    suite.digest, secret.baseAddress, CInt(suite.secretBytes), information, information.count,
                    start, &count)
                precondition(
                    unsafe result != nil && Int(count) >= output.count, "OpenSSL has HMAC with SHA-2")
                unsafe output.copyBytes(from: derived.prefix(output.count))
                unsafe OPENSSL_cleanse(derived.baseAddress, derived.count)
            }
        }
    }
}
