/// A cipher suite of TLS 1.3 (RFC 8446, B.4) that the policy permits.
enum RecordSuite: Int, CaseIterable {
    case aes128GCM
    case aes256GCM
    case chaCha20Poly1305

    /// The bytes of the authentication tag at the end of a record, the same in all three suites.
    static let tagBytes = 16
    /// A sender updates its key after this many records. With AES-GCM, 2^24.5 full records give an attacker an
    /// advantage of 2^-57 (RFC 8446, section 5.5). ChaCha20-Poly1305 has no such limit, and an update costs little.
    static let mostRecords: UInt64 = 1 << 24

    /// Finds the suite with this number in IANA's registry; nil if it is not one of the three.
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

    /// OpenSSL's name of the hash for key derivation.
    var digestName: StaticString {
        switch self {
        case .aes128GCM, .chaCha20Poly1305: "SHA2-256"
        case .aes256GCM: "SHA2-384"
        }
    }

    /// The bytes of a traffic secret, which is as long as the hash.
    var secretBytes: Int {
        switch self {
        case .aes128GCM, .chaCha20Poly1305: 32
        case .aes256GCM: 48
        }
    }

    /// The bytes of a key.
    var keyBytes: Int {
        switch self {
        case .aes128GCM: 16
        case .aes256GCM, .chaCha20Poly1305: 32
        }
    }
}
