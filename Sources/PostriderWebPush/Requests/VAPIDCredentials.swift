internal import PostriderCrypto
internal import PostriderNotifications

/// The public key of an application server (RFC 8292, section 3.2): a point on P-256, uncompressed.
package struct VAPIDKey: Hashable, Sendable {
    /// The number of bytes.
    package static let byteCount = 65
    /// The point (X9.62): 4, then both coordinates.
    package let bytes: [UInt8]

    /// Creates a key from its bytes; nil if they are no point on the curve.
    package init?(bytes: [UInt8]) {
        guard Self.publicKey(bytes) != nil else { return nil }
        self.bytes = bytes
    }

    /// Reads a key from base64url; nil if the text is not that, or no point on the curve.
    package init?(text: some StringProtocol) {
        guard text.utf8.count <= 2 * Self.byteCount, let bytes = Base64URL.bytes(text) else { return nil }
        self.init(bytes: bytes)
    }

    /// The key in base64url.
    package var text: String { Base64URL.text(bytes) }

    /// Whether `signature` is one of `message`, made with the private half of this key.
    func isValidSignature(_ signature: [UInt8], for message: Span<UInt8>) -> Bool {
        // Only the encoding of RFC 7518, section 3.4; the verifier would take DER too.
        guard signature.count == 64, let key = Self.publicKey(bytes) else { return false }
        return key.isValidSignature(signature.span, for: message)
    }

    private static func publicKey(_ bytes: [UInt8]) -> ES256.PublicKey? {
        do throws(CryptoError) {
            return try ES256.PublicKey(point: bytes.span)
        } catch {
            return nil
        }
    }
}

/// A VAPID token and the key with which it claims to be signed (RFC 8292, section 3).
package struct VAPIDCredentials: Equatable, Sendable {
    /// The token: a JWT.
    package let token: String
    /// The key in base64url; empty if the request has none.
    package let key: String

    /// Creates credentials that were read before.
    package init(token: String, key: String) {
        self.token = token
        self.key = key
    }

    /// Reads the values of `Authorization`; nil if there are none.
    ///
    /// - Parameter keys: the values of `Crypto-Key`, where the older drafts have the key.
    /// - Throws: `unauthorized` if the credentials are of another scheme, or too long.
    package init?(authorization: [String], keys: [String]) throws(WebPushRejection) {
        guard let value = authorization.first?.trimmed, !value.isEmpty else { return nil }
        guard authorization.count == 1, value.utf8.count <= Limits.webPushFieldBytes else {
            throw .unauthorized
        }
        let parts = value.split(separator: " ", maxSplits: 1)
        let rest = parts.count == 2 ? parts[1].trimmed : ""
        switch parts[0].lowercased() {
        case "vapid":
            let parameters = HeaderParameters(rest)
            token = parameters["t"] ?? ""
            key = parameters["k"] ?? ""
        case "webpush", "bearer":
            token = rest
            let text = keys.joined(separator: ",")
            guard text.utf8.count <= Limits.webPushFieldBytes else { throw .unauthorized }
            key = HeaderParameters(text)["p256ecdsa"] ?? ""
        default: throw .unauthorized
        }
    }
}

/// What is wrong with a VAPID token (RFC 8292, section 4.2).
package enum VAPIDFlaw: Error, Equatable, Sendable, CaseIterable {
    /// The token or the key is missing, or cannot be read.
    case malformed
    /// The signature was not made with the key.
    case wrongSignature
    /// The token's time is over.
    case expired
    /// The token is valid for more than 24 hours.
    case tooLong
    /// The token is for another push service.
    case wrongAudience
    /// The subscription is restricted to another key.
    case wrongKey

    /// One sentence for the sender.
    package var explanation: String {
        switch self {
        case .malformed:
            "the VAPID token cannot be read: send 'vapid t=<JWT with ES256, aud and exp>, k=<public key>'"
        case .wrongSignature: "the VAPID token was not signed with the key in k: sign with its private half"
        case .expired: "the VAPID token has expired: sign a new one, and look at the clock"
        case .tooLong: "the VAPID token is valid for more than 24 hours: sign one with an earlier exp"
        case .wrongAudience: "the VAPID token is for another push service: aud must be the address's origin"
        case .wrongKey: "the subscription was made for another VAPID key: sign with that key"
        }
    }
}
