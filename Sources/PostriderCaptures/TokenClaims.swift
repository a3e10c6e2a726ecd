import FoundationEssentials
import PostriderJSON

/// What a provider token (a JSON Web Token, RFC 7519) says of itself. It is read, not verified: the answer to the
/// request tells whether the relay believed it.
public struct TokenClaims: Sendable, Equatable {
    /// `alg` of its header.
    public var algorithm: String?
    /// `kid` of its header.
    public var keyIdentifier: String?
    /// `iss`: the team.
    public var issuer: String?
    /// `iat`, in seconds since the epoch.
    public var issuedAt: Int64?

    /// Claims from their parts.
    public init(algorithm: String?, keyIdentifier: String?, issuer: String?, issuedAt: Int64?) {
        self.algorithm = algorithm
        self.keyIdentifier = keyIdentifier
        self.issuer = issuer
        self.issuedAt = issuedAt
    }

    /// What the value of an `authorization` field says; nil: it holds no token that can be read.
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

    /// The value of an `authorization` field without its secret: the signature of a token, or all behind the scheme of
    /// something else.
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
