internal import PostriderCrypto
internal import PostriderJSON
package import PostriderNotifications

/// A VAPID token whose signature is valid (RFC 8292, section 2): a JWT with ES256.
struct VAPIDToken: Sendable {
    /// The key that signed it.
    let key: VAPIDKey
    /// The claim `exp`.
    let expiresAt: Moment
    /// The claim `aud`: one origin, or several (RFC 7519, section 4.1.3).
    let audiences: [String]

    /// Reads a token and verifies its signature.
    init(verifying credentials: VAPIDCredentials) throws(VAPIDFlaw) {
        guard let key = VAPIDKey(text: credentials.key) else { throw .malformed }
        let parts = credentials.token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Self.members(parts[0]), let claims = Self.members(parts[1]),
            let signature = Base64URL.bytes(parts[2]),
            header["alg"] == .string("ES256"), header["crit"] == nil,
            let seconds = claims["exp"]?.double, seconds.magnitude < 9_007_199_254_740_992
        else { throw .malformed }
        switch claims["aud"] {
        case .string(let audience): audiences = [audience]
        case .array(let values): audiences = values.compactMap(\.string)
        default: throw .malformed
        }
        let signed = Array("\(parts[0]).\(parts[1])".utf8)
        guard key.isValidSignature(signature, for: signed.span) else { throw .wrongSignature }
        self.key = key
        expiresAt = Moment(seconds: Int64(seconds))
    }

    /// Checks the claims `exp` and `aud`.
    ///
    /// - Parameter origin: the origin of this service, which must be among the audiences.
    func check(at now: Moment, origin: String) throws(VAPIDFlaw) {
        guard now < expiresAt else { throw .expired }
        let latest = now.advanced(byMilliseconds: Limits.vapidSeconds * 1000)
        guard expiresAt <= latest else { throw .tooLong }
        let expected = Self.normalized(origin)
        guard audiences.contains(where: { Self.normalized($0) == expected }) else { throw .wrongAudience }
    }

    /// An origin in lower case, without a `/` at its end and without the port of HTTPS.
    private static func normalized(_ origin: String) -> Substring {
        var text = origin.lowercased()[...]
        if text.hasSuffix("/") { text = text.dropLast() }
        return text.hasSuffix(":443") ? text.dropLast(4) : text
    }

    private static func members(_ text: Substring) -> [String: JSONValue]? {
        Base64URL.bytes(text).flatMap { JSONValue.members(ofObject: $0.span) }
    }
}

/// The VAPID tokens that one shard has verified, so that a signature is not checked again for every message.
///
/// The size is bounded by two generations: when the younger one is full it becomes the older one, and tokens that were
/// not used since are forgotten.
package final class VAPIDVerifier {
    private var younger: [SHA256Digest: VAPIDToken] = [:]
    private var older: [SHA256Digest: VAPIDToken] = [:]
    /// The origin of the addresses of subscriptions, which tokens must be for: `https://push.example.org`.
    private let origin: String

    /// Creates a verifier for addresses of this origin.
    package init(origin: String) { self.origin = origin }

    /// Verifies the credentials of a request to a subscription.
    ///
    /// Credentials must be valid even if the subscription is for everybody: the sender has taken the trouble to send
    /// them, and learns of a mistake before it matters.
    ///
    /// - Parameter restriction: the key that the app named when it subscribed; nil if it named none.
    package func verify(
        _ credentials: VAPIDCredentials?, for restriction: VAPIDKey?, at now: Moment
    ) throws(WebPushRejection) {
        guard let credentials else {
            if restriction != nil { throw .unauthorized }
            return
        }
        do throws(VAPIDFlaw) {
            let token = try token(credentials)
            try token.check(at: now, origin: origin)
            if let restriction, token.key != restriction { throw .wrongKey }
        } catch {
            throw .forbidden(error)
        }
    }

    private func token(_ credentials: VAPIDCredentials) throws(VAPIDFlaw) -> VAPIDToken {
        let text = Array("\(credentials.token) \(credentials.key)".utf8)
        let digest = SHA256.digest(text.span)
        if let known = younger[digest] { return known }
        let token: VAPIDToken
        if let known = older[digest] { token = known } else { token = try VAPIDToken(verifying: credentials) }
        if younger.count >= Limits.cachedVAPIDTokens / 2 { (younger, older) = ([:], younger) }
        younger[digest] = token
        return token
    }
}
