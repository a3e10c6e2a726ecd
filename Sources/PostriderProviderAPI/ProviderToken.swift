import FoundationEssentials
import PostriderCrypto
import PostriderJSON
import PostriderNotifications

/// A verified provider token ("Establishing a token-based connection to APNs"): a JSON Web Token signed with ES256 by
/// one of a team's keys.
package struct ProviderToken: Sendable {
    /// The key that signed it.
    let key: ProviderKey
    /// The `iat` claim.
    let issuedAt: Moment

    /// How far `iat` may differ from now, in either direction.
    static let lifetimeMilliseconds: Int64 = 60 * 60 * 1000

    /// Whether the token is neither too old nor from the future.
    func isCurrent(at now: Moment) -> Bool {
        let distance = now.milliseconds.subtractingReportingOverflow(issuedAt.milliseconds)
        return !distance.overflow && distance.partialValue.magnitude <= UInt64(Self.lifetimeMilliseconds)
    }

    /// Reads and verifies a token's text against the keys of `authority`. The stored key determines the algorithm,
    /// ECDSA on P-256; the header may only choose between its two schemes, ES256 and what pushok calls ES512. A token
    /// that brings its own key is refused.
    ///
    /// Accepts what real libraries send: base64url and padded base64, raw and DER signatures, `iat` as an integer, a
    /// float or a numeric string, unknown claims, pushok's ES512 (the contract's section 3.1).
    ///
    /// - Throws: `InvalidProviderToken`. Whether the key is revoked or the token too old is checked elsewhere.
    init(verifying text: Span<UInt8>, with authority: AccessPolicy) throws(Rejection) {
        guard text.count <= Limits.providerTokenBytes else { throw .invalidProviderToken }
        var dots: [Int] = []
        for index in text.indices where text[index] == UInt8(ascii: ".") { dots.append(index) }
        guard dots.count == 2,
            let header = Self.members(text.extracting(..<dots[0])).flatMap(Header.init),
            let claims = Self.members(text.extracting(dots[0] + 1..<dots[1])).flatMap(Claims.init),
            let signature = Self.base64(text.extracting((dots[1] + 1)...)),
            let key = authority.providerKeys[header.kid],
            // Byte for byte: Swift treats canonically equivalent texts as equal.
            key.identifier.utf8.elementsEqual(header.kid.utf8),
            key.team.utf8.elementsEqual(claims.iss.utf8),
            key.publicKey.isValidSignature(
                signature.span, for: text.extracting(..<dots[1]), scheme: header.scheme)
        else { throw .invalidProviderToken }
        self.key = key
        issuedAt = claims.issuedAt
    }

    /// The JOSE header (RFC 7515 section 4.1), as far as it matters.
    private struct Header {
        let kid: String
        let scheme: ES256.Scheme

        /// Critical extensions, of which we understand none, and keys inside the token.
        private static let refused = ["crit", "jwk", "jku", "x5u", "x5c"]

        init?(_ members: [String: JSONValue]) {
            guard Self.refused.allSatisfy({ members[$0] == nil }) else { return nil }
            switch members["alg"] {
            // Apple's own sample has no `alg`.
            case .string("ES256"), .null, nil: scheme = .sha256
            case .string("ES512"): scheme = .sha512
            default: return nil
            }
            guard let kid = members["kid"]?.string, 1...Limits.keyIdentifierBytes ~= kid.utf8.count else {
                return nil
            }
            self.kid = kid
        }
    }

    private struct Claims {
        let iss: String
        let issuedAt: Moment

        init?(_ members: [String: JSONValue]) {
            guard let iss = members["iss"]?.string, let iat = members["iat"],
                let seconds = iat.double ?? iat.string.flatMap({ Double($0) }),
                // 2^53 seconds are exact in a Double and far beyond any clock.
                seconds.magnitude < 9_007_199_254_740_992
            else { return nil }
            self.iss = iss
            issuedAt = Moment(seconds: Int64(seconds))
        }
    }

    private static func members(_ text: Span<UInt8>) -> [String: JSONValue]? {
        base64(text).flatMap { JSONValue.members(ofObject: $0.span) }
    }

    /// Base64 of either alphabet, with or without padding (RFC 4648 sections 4 and 5).
    private static func base64(_ text: Span<UInt8>) -> [UInt8]? {
        var standard: [UInt8] = []
        standard.reserveCapacity(text.count + 3)
        for index in text.indices {
            switch text[index] {
            case UInt8(ascii: "-"): standard.append(UInt8(ascii: "+"))
            case UInt8(ascii: "_"): standard.append(UInt8(ascii: "/"))
            default: standard.append(text[index])
            }
        }
        while !standard.count.isMultiple(of: 4) { standard.append(UInt8(ascii: "=")) }
        return Data(base64Encoded: Data(standard)).map(Array.init)
    }
}

/// The provider tokens that one shard has verified, so that a signature is not checked again for every push.
///
/// The key is the digest of the whole token, because a signature alone would be malleable. The size is bounded by two
/// generations: when the younger one is full it becomes the older one, and tokens that were not used since are
/// forgotten.
package final class ProviderTokens {
    private var younger: [SHA256Digest: ProviderToken] = [:]
    private var older: [SHA256Digest: ProviderToken] = [:]
    private var generation: UInt64 = 0

    /// An empty cache.
    package init() {}

    /// The verified token of this text: from the cache, or verified now.
    ///
    /// - Parameter digest: SHA-256 of the text.
    func token(
        _ text: Span<UInt8>, _ digest: SHA256Digest, by authority: AccessPolicy
    ) throws(Rejection) -> ProviderToken {
        if generation != authority.generation {
            // A key may have been removed: tokens that it signed are no longer valid.
            (younger, older) = ([:], [:])
            generation = authority.generation
        }
        if let known = younger[digest] { return known }
        let token: ProviderToken
        if let known = older[digest] {
            token = known
        } else {
            token = try ProviderToken(verifying: text, with: authority)
        }
        if younger.count >= Limits.cachedProviderTokens / 2 { (younger, older) = ([:], younger) }
        younger[digest] = token
        return token
    }
}
