/// A cipher suite of TLS 1.3 (RFC 8446, B.4) that the policy allows.
enum RecordSuite: Int, CaseIterable {
    case aes128GCM
    case aes256GCM
    case chaCha20Poly1305

    /// Bytes of the authentication tag at the end of a record; the same in all three suites.
    static let tagBytes = 16
    /// After so many records a sender changes its key. With AES-GCM, 2^24.5 full records give an attacker an advantage
    /// of 2^-57 (RFC 8446, section 5.5); ChaCha20-Poly1305 has no such bound, and the change costs it nothing.
    static let mostRecords: UInt64 = 1 << 24

    /// The suite with this number in IANA's registry; nil if it is not one of the three.
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

    /// OpenSSL's name of the hash that keys are derived with.
    var digestName: StaticString {
        switch self {
        case .aes128GCM, .chaCha20Poly1305: "SHA2-256"
        case .aes256GCM: "SHA2-384"
        }
    }

    /// Bytes of a traffic secret: as many as the hash has.
    var secretBytes: Int {
        switch self {
        case .aes128GCM, .chaCha20Poly1305: 32
        case .aes256GCM: 48
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
