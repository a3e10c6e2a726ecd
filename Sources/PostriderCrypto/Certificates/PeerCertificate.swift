internal import CPostriderCrypto

/// What is remembered of the certificate that a peer showed in its handshake.
public struct PeerCertificate: Equatable, Sendable {
    /// The first UID of its subject: the topic, in a provider's certificate.
    public let userIdentifier: String?
    /// The first common name of its subject.
    public let commonName: String?
    /// SHA-256 of the whole certificate (DER).
    public let fingerprint: SHA256Digest
    /// What Apple's extensions say in it, in a provider's certificate; nil where they are malformed.
    public let pushExtensions: PushExtensions?
    /// Whether it leads to a certificate of the trust file, is in its time and is meant for this use. When
    /// false, nothing else here may be believed.
    public let isVerified: Bool

    /// A certificate from its parts.
    public init(
        userIdentifier: String?, commonName: String?, fingerprint: SHA256Digest,
        pushExtensions: PushExtensions? = PushExtensions(), isVerified: Bool
    ) {
        self.userIdentifier = userIdentifier
        self.commonName = commonName
        self.fingerprint = fingerprint
        self.pushExtensions = pushExtensions
        self.isVerified = isVerified
    }

    /// Reads an `X509`, which stays the caller's.
    package init(reading certificate: OpaquePointer, isVerified: Bool) {
        var words = SIMD4<UInt64>()
        let status = unsafe withUnsafeMutableBytes(of: &words) { output in
            let start = unsafe output.bindMemory(to: UInt8.self).baseAddress
            return unsafe X509_digest(certificate, SHA256.algorithm.pointer, start, nil)
        }
        precondition(status == 1, "a parsed certificate has a digest")
        let subject = unsafe X509_get_subject_name(certificate)
        unsafe self.init(
            userIdentifier: Self.firstEntry(of: subject, NID_userId),
            commonName: Self.firstEntry(of: subject, NID_commonName),
            fingerprint: SHA256Digest(words: words),
            pushExtensions: PushExtensions(reading: certificate),
            isVerified: isVerified
        )
    }

    /// The first entry of a kind as text, or nil when there is none, or one with a zero byte inside, which
    /// some readers would take for its end.
    private static func firstEntry(of name: OpaquePointer?, _ kind: CInt) -> String? {
        let index = unsafe X509_NAME_get_index_by_NID(name, kind, -1)
        guard index >= 0, let entry = unsafe X509_NAME_get_entry(name, index) else { return nil }
        var text: UnsafeMutablePointer<UInt8>?
        let count = unsafe ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(entry))
        guard count >= 0, let start = unsafe text else { return nil }
        defer { unsafe CRYPTO_free(start, #fileID, #line) }
        let bytes = unsafe UnsafeBufferPointer(start: start, count: Int(count))
        return unsafe bytes.contains(0) ? nil : String(decoding: bytes, as: UTF8.self)
    }
}
