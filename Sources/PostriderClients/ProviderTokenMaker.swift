import FoundationEssentials
public import PostriderCrypto
public import PostriderNotifications

/// Signs provider tokens, which are JSON Web Tokens signed with a team's key (Apple, "Establishing a token-based
/// connection to APNs").
public struct ProviderTokenMaker: Sendable {
    private let key: ES256.PrivateKey
    private let keyIdentifier: String
    private let team: String
    private var last: (token: String, issuedAt: Moment)?

    /// The age at which a token is replaced, in milliseconds. A relay accepts tokens of the last hour, and refuses
    /// new ones that come more often than every twenty minutes.
    public static let lifetimeMilliseconds: Int64 = 50 * 60 * 1000

    /// Creates a maker with a team's key.
    public init(key: ES256.PrivateKey, keyIdentifier: String, team: String) {
        self.key = key
        self.keyIdentifier = keyIdentifier
        self.team = team
    }

    /// The current token. It is replaced when it becomes too old.
    public mutating func token(at now: Moment) -> String {
        if let last, abs(now.milliseconds - last.issuedAt.milliseconds) < Self.lifetimeMilliseconds {
            return last.token
        }
        let token = makeToken(issuedAt: now)
        last = (token, now)
        return token
    }

    /// Makes a token with this time of issue (RFC 7519; RFC 7515, section 3.1).
    public func makeToken(issuedAt moment: Moment) -> String {
        let header = Self.base64(Header(alg: "ES256", kid: keyIdentifier, typ: "JWT"))
        let claims = Self.base64(Claims(iss: team, iat: moment.milliseconds / 1000))
        let message = Array("\(header).\(claims)".utf8)
        return "\(header).\(claims).\(Self.base64(Data(key.signature(for: message.span))))"
    }

    private struct Header: Encodable {
        let alg: String, kid: String, typ: String
    }

    private struct Claims: Encodable {
        let iss: String, iat: Int64
    }

    private static func base64(_ part: some Encodable) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        do {
            return base64(try encoder.encode(part))
        } catch {
            preconditionFailure("texts and whole numbers can be encoded")
        }
    }

    /// Base64url without padding (RFC 7515, section 2).
    private static func base64(_ data: Data) -> String {
        data.base64EncodedString()
            .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}
