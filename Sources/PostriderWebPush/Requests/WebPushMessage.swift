internal import PostriderNotifications

/// A message of an application server as the relay carries it: encrypted bytes, and what a device needs to decrypt
/// them. The relay cannot read it.
package struct WebPushMessage: Equatable, Sendable {
    /// How the bytes are encrypted.
    package enum Encryption: Equatable, Sendable {
        /// `aes128gcm` (RFC 8291): the bytes contain everything.
        case aes128gcm
        /// `aesgcm`, of the drafts before RFC 8291: the keys are in the header fields `Encryption` and `Crypto-Key`.
        case aesgcm(encryption: String, cryptoKey: String)

        /// The value of `Content-Encoding`.
        package var name: String {
            switch self {
            case .aes128gcm: "aes128gcm"
            case .aesgcm: "aesgcm"
            }
        }
    }

    /// How the bytes are encrypted; nil if there are none.
    package let encryption: Encryption?
    /// The encrypted bytes, at most ``Notifications/Limits/webPushBytes``.
    package let bytes: [UInt8]

    /// Creates a message from its parts.
    package init(_ encryption: Encryption?, _ bytes: [UInt8]) {
        self.encryption = encryption
        self.bytes = bytes
    }
}

/// The form in which the queue holds a message:
///
///     0                              no message
///     1, bytes                       aes128gcm
///     2, length (2), Encryption, length (2), Crypto-Key, bytes    aesgcm
///
/// Lengths are in network byte order.
extension WebPushMessage {
    /// The most bytes of this form.
    package static let mostStoredBytes = Limits.webPushBytes + 2 * Limits.webPushFieldBytes + 5

    /// The message in that form.
    package var stored: [UInt8] {
        switch encryption {
        case nil: return [0]
        case .aes128gcm: return [1] + bytes
        case .aesgcm(let encryption, let cryptoKey):
            var stored: [UInt8] = [2]
            for text in [encryption, cryptoKey] {
                let count = text.utf8.count
                stored += [UInt8(truncatingIfNeeded: count >> 8), UInt8(truncatingIfNeeded: count)]
                stored += text.utf8
            }
            return stored + bytes
        }
    }

    /// Reads that form; nil if the bytes are not in it.
    package init?(stored: [UInt8]) {
        switch stored.first {
        case 0 where stored.count == 1: self.init(nil, [])
        case 1: self.init(.aes128gcm, Array(stored.dropFirst()))
        case 2:
            var rest = stored.dropFirst()
            guard let encryption = Self.takeText(&rest), let cryptoKey = Self.takeText(&rest) else {
                return nil
            }
            self.init(.aesgcm(encryption: encryption, cryptoKey: cryptoKey), Array(rest))
        default: return nil
        }
    }

    private static func takeText(_ rest: inout ArraySlice<UInt8>) -> String? {
        guard rest.count >= 2 else { return nil }
        let count = Int(rest[rest.startIndex]) << 8 | Int(rest[rest.startIndex + 1])
        rest = rest.dropFirst(2)
        guard rest.count >= count else { return nil }
        defer { rest = rest.dropFirst(count) }
        return String(validating: rest.prefix(count), as: UTF8.self)
    }
}
