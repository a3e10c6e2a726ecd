/// The keys with which one side protects its records: a traffic secret, and the key and the initialization vector
/// that are derived from it (RFC 8446, section 7.3).
///
/// It cannot be copied: two copies would protect two records with the same nonce, which breaks AES-GCM. All of its
/// bytes are in one ``SecretBytes``, which overwrites them when the key ends.
@safe struct TrafficKey: ~Copyable {
    /// The bytes of the longest secret, which is that of a suite with SHA-384.
    static let mostSecretBytes = 48

    private static let keyPlace = 48..<80
    private static let ivPlace = 80..<92
    private static let noncePlace = 92..<104

    private let memory = SecretBytes(count: 104)
    private let suite: RecordSuite
    /// The number of records that were protected with this key.
    private(set) var records: UInt64 = 0

    /// Derives the key from a secret, which is copied.
    init(
        _ secret: UnsafeMutableBufferPointer<UInt8>, _ suite: RecordSuite, _ derivation: KeyDerivation
    ) throws(RecordViolation) {
        precondition(secret.count == suite.secretBytes, "a secret is as long as the suite's hash")
        self.suite = suite
        _ = unsafe memory[0..<suite.secretBytes].update(fromContentsOf: secret)
        try derive(derivation)
    }

    /// The key, for tests that compare it with published ones.
    var key: UnsafeMutableBufferPointer<UInt8> {
        unsafe memory[Self.keyPlace.lowerBound..<Self.keyPlace.lowerBound + suite.keyBytes]
    }

    /// Returns the nonce of the next record: its number xor the initialization vector (section 5.3). No two records
    /// get the same. The bytes are valid until the next call.
    mutating func takeNonce() -> UnsafeMutableBufferPointer<UInt8> {
        let nonce = unsafe memory[Self.noncePlace]
        _ = unsafe nonce.update(fromContentsOf: memory[Self.ivPlace])
        for place in 0..<8 {
            unsafe nonce[11 - place] ^= UInt8(truncatingIfNeeded: records >> UInt64(8 * place))
        }
        records += 1
        return unsafe nonce
    }

    /// Replaces the key by the next one, from which it cannot be computed (section 7.2).
    mutating func advance(_ derivation: KeyDerivation) throws(RecordViolation) {
        let next = SecretBytes(count: suite.secretBytes)
        let (from, to) = unsafe (memory[0..<suite.secretBytes], next[0..<suite.secretBytes])
        try unsafe derivation.expand(from, "traffic upd", digest: suite.digestName, into: to)
        _ = unsafe from.update(fromContentsOf: to)
        try derive(derivation)
    }

    private mutating func derive(_ derivation: KeyDerivation) throws(RecordViolation) {
        let secret = unsafe memory[0..<suite.secretBytes]
        try unsafe derivation.expand(secret, "key", digest: suite.digestName, into: key)
        try unsafe derivation.expand(secret, "iv", digest: suite.digestName, into: memory[Self.ivPlace])
        records = 0
    }
}
