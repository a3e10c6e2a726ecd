import FoundationEssentials
import PostriderJSON

/// The claims of a provider token (a JSON Web Token, RFC 7519). They are read and not verified: the response to the
/// request tells whether the relay accepted the token.
public struct TokenClaims: Sendable, Equatable {
    /// The algorithm: `alg` of the header.
    public var algorithm: String?
    /// The key identifier: `kid` of the header.
    public var keyIdentifier: String?
    /// The team: `iss`.
    public var issuer: String?
    /// The time of issue: `iat`, in seconds since 1970.
    public var issuedAt: Int64?

    /// Creates claims from their parts.
    public init(algorithm: String?, keyIdentifier: String?, issuer: String?, issuedAt: Int64?) {
        self.algorithm = algorithm
        self.keyIdentifier = keyIdentifier
        self.issuer = issuer
        self.issuedAt = issuedAt
    }

    /// Reads the claims from the value of an `authorization` field; nil if it contains no readable token.
    public init?(authorization: String) {
        guard let token = Self.token(in: authorization) else { return nil }
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Self.members(parts[0]), let claims = Self.members(parts[1])
        else {
            return nil
        }
        let issuedAt = claims["iat"].flatMap { $0.double ?? $0.string.flatMap(Double.init) }
        self.init(
            algorithm: header["alg"]?.string, keyIdentifier: header["kid"]?.string,
            issuer: claims["iss"]?.string,
            issuedAt: issuedAt.flatMap { Int64(exactly: $0.rounded(.towardZero)) })
    }

    /// The value of an `authorization` field without its secret: the signature of a token, or everything after the
    /// name of another scheme.
    public static func masked(_ authorization: String) -> String {
        if token(in: authorization) != nil, let end = authorization.lastIndex(of: ".") {
            return authorization[...end] + mask
        }
        guard let space = authorization.firstIndex(of: " ") else { return mask }
        return authorization[...space] + mask
    }

    private static let mask = "(masked)"

    private static func token(in authorization: String) -> Substring? {
        guard authorization.utf8.count > 7, authorization.prefix(7).lowercased() == "bearer " else {
            return nil
        }
        let token = authorization.dropFirst(7)
        return token.count { $0 == "." } == 2 ? token : nil
    }

    private static func members(_ part: Substring) -> [String: JSONValue]? {
        var text = part.replacing("-", with: "+").replacing("_", with: "/")
        text.removeAll { $0 == "=" || $0 == " " }
        text += String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        guard let data = Data(base64Encoded: String(text)) else { return nil }
        return JSONValue.members(ofObject: Array(data).span)
    }
}
