internal import FoundationEssentials
internal import PostriderNotifications

/// Base64 for URLs, without padding (RFC 4648, section 5).
enum Base64URL {
    /// Decodes a text; nil if it is not base64. The other alphabet and padding are accepted too, because senders of the
    /// older drafts use them.
    static func bytes(_ text: some StringProtocol) -> [UInt8]? {
        var standard: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "-"): standard.append(UInt8(ascii: "+"))
            case UInt8(ascii: "_"): standard.append(UInt8(ascii: "/"))
            default: standard.append(byte)
            }
        }
        while !standard.count.isMultiple(of: 4) { standard.append(UInt8(ascii: "=")) }
        return Data(base64Encoded: Data(standard)).map(Array.init)
    }

    /// Encodes bytes.
    static func text(_ bytes: [UInt8]) -> String {
        var letters: [UInt8] = []
        for byte in Data(bytes).base64EncodedData() {
            switch byte {
            case UInt8(ascii: "+"): letters.append(UInt8(ascii: "-"))
            case UInt8(ascii: "/"): letters.append(UInt8(ascii: "_"))
            case UInt8(ascii: "="): break
            default: letters.append(byte)
            }
        }
        return String(decoding: letters, as: UTF8.self)
    }

    /// Whether a text is not empty and has only letters, digits, `-` and `_`.
    static func isAlphabetic(_ text: some StringProtocol) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy {
                $0.isLetterOrDigit || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
            }
    }
}
