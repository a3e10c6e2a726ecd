internal import CPostriderOpenSSL

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
    init(_ secret: Secret, _ suite: RecordSuite, _ hkdf: HKDF) {
        self.secret = secret
        derive(suite, hkdf)
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
    mutating func advance(_ suite: RecordSuite, _ hkdf: HKDF) {
        var next = Secret(repeating: 0)
        unsafe withUnsafeMutableBytes(of: &next) {
            let next = unsafe UnsafeMutableRawBufferPointer(rebasing: $0.prefix(suite.hash.bytes))
            unsafe hkdf.expand(secret, "traffic upd", suite.hash, into: next)
        }
        secret = next
        unsafe withUnsafeMutableBytes(of: &next) { unsafe OPENSSL_cleanse($0.baseAddress, $0.count) }
        derive(suite, hkdf)
    }

    /// Overwrites all of it, in a way that no compiler takes for useless.
    mutating func forget() {
        unsafe withUnsafeMutableBytes(of: &self) { unsafe OPENSSL_cleanse($0.baseAddress, $0.count) }
    }

    private mutating func derive(_ suite: RecordSuite, _ hkdf: HKDF) {
        unsafe withUnsafeMutableBytes(of: &key) {
            let key = unsafe UnsafeMutableRawBufferPointer(rebasing: $0.prefix(suite.keyBytes))
            unsafe hkdf.expand(secret, "key", suite.hash, into: key)
        }
        unsafe withUnsafeMutableBytes(of: &iv) { unsafe hkdf.expand(secret, "iv", suite.hash, into: $0) }
        records = 0
    }
}

extension HKDF {
    /// HKDF-Expand-Label without a context.
    fileprivate func expand(
        _ secret: TrafficKey.Secret, _ label: StaticString, _ hash: Hash,
        into output: UnsafeMutableRawBufferPointer
    ) {
        unsafe withUnsafeBytes(of: secret) {
            unsafe expand(
                UnsafeRawBufferPointer(rebasing: $0.prefix(hash.bytes)),
                label: UnsafeRawBufferPointer(start: label.utf8Start, count: label.utf8CodeUnitCount),
                context: UnsafeRawBufferPointer(start: nil, count: 0), hash, into: output)
        }
    }
}
