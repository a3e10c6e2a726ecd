import FoundationEssentials
import PostriderCrypto

/// The secret that the relay and the receivers of its callbacks share (Standard Webhooks, "Signature scheme").
public struct CallbackKey: Sendable {
    private let bytes: [UInt8]

    /// Reads `whsec_` and the base64 of 24 to 64 bytes; nil if the text is not that.
    public init?(_ text: String) {
        let prefix = "whsec_"
        guard text.hasPrefix(prefix), let data = Data(base64Encoded: String(text.dropFirst(prefix.count))),
            24...64 ~= data.count
        else { return nil }
        bytes = Array(data)
    }

    /// The value of `webhook-signature`: `v1,` and the base64 of HMAC-SHA256 of `<id>.<timestamp>.<body>`.
    ///
    /// - Parameter seconds: the value of `webhook-timestamp`.
    public func signature(id: String, seconds: Int64, body: [UInt8]) -> String {
        let code = HMAC.sha256(of: (Array("\(id).\(seconds).".utf8) + body).span, key: bytes.span)
        return "v1," + Data(code).base64EncodedString()
    }
}
