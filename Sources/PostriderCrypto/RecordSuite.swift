/// What protects the records of TLS 1.3 (RFC 8446, B.4): those suites that we speak.
enum RecordSuite: Int, CaseIterable {
    case aes128GCM
    case aes256GCM
    case chaCha20Poly1305

    /// Bytes of the tag at the end of a record, of each of them.
    static let tagBytes = 16
    /// After so many records a sender takes its next key. Of AES-GCM, 2^24.5 full records leave an attacker a chance of
    /// 2^-57 (RFC 8446, 5.5); ChaCha20-Poly1305 has no such bound, and loses nothing.
    static let mostRecords: UInt64 = 1 << 24

    /// The suite of these two bytes in a handshake; nil: none of these.
    init?(identifier: UInt16) {
        switch identifier {
        case 0x1301: self = .aes128GCM
        case 0x1302: self = .aes256GCM
        case 0x1303: self = .chaCha20Poly1305
        default: return nil
        }
    }

    /// OpenSSL's name of the cipher.
    var cipherName: String {
        switch self {
        case .aes128GCM: "AES-128-GCM"
        case .aes256GCM: "AES-256-GCM"
        case .chaCha20Poly1305: "ChaCha20-Poly1305"
        }
    }

    /// What keys are derived with; a secret is as long as what it comes to.
    var hash: HKDF.Hash {
        switch self {
        case .aes128GCM, .chaCha20Poly1305: .sha256
        case .aes256GCM: .sha384
        }
    }

    /// Bytes of a key.
    var keyBytes: Int {
        switch self {
        case .aes128GCM: 16
        case .aes256GCM, .chaCha20Poly1305: 32
        }
    }
}
