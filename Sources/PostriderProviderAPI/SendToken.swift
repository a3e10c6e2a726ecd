import PostriderCrypto
package import PostriderNotifications

/// The text of a token for plain sends: 32 random bytes, so no slow hash is needed for its digest.
package enum SendToken {
    /// What every token begins with.
    package static let beginning = "send-"

    /// A new token of these random bytes.
    package static func text(of bytes: [UInt8]) -> String { beginning + Hexadecimal.text(bytes) }

    /// The digest that the registry stores.
    package static func digest(_ text: [UInt8]) -> [UInt8] { SHA256.digest(text.span).bytes }
}

extension AccessPolicy {
    /// The record of a token for plain sends; nil if there is no such token. Every digest is compared, each in constant
    /// time.
    package func sendToken(of text: [UInt8]) -> SendTokenRecord? {
        Self.record(among: sendTokens, of: SendToken.digest(text)) { $0.digest }
    }
}
