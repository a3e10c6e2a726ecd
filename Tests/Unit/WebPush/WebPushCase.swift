import PostriderNotifications
import Testing

@testable import PostriderWebPush

/// One rule about requests of application servers, as a request and its answer. The page
/// docs/reference/web-push.md is made of them.
struct WebPushCase: Sendable, CustomTestStringConvertible {
    /// The VAPID credentials of the request.
    enum Credentials: String, Sendable {
        case none = ""
        case valid = "a valid VAPID token"
        case legacy = "`Authorization: WebPush` and the key in `Crypto-Key: p256ecdsa`"
        case otherKey = "a valid VAPID token of another key"
        case otherSignature = "a VAPID token that another key has signed"
        case expired = "a VAPID token that has expired"
        case tooLong = "a VAPID token that is valid for 25 hours"
        case otherAudience = "a VAPID token for `https://push.example.net`"
        case manyAudiences = "a VAPID token for two origins, of which one is the address's"
        case noExpiry = "a VAPID token without `exp`"
        case noKey = "`Authorization: vapid` without `k`"
        case hmac = "a VAPID token with `alg: HS256`"
        case basic = "`Authorization: Basic`"
    }

    /// The number of the rule, which stays the same.
    let name: String
    /// What holds.
    let rule: String
    /// What differs from the model, which is `TTL: 60`, `Content-Encoding: aes128gcm` and a body of 100 bytes. nil
    /// removes a field; several values are sent as fields of their own.
    let changes: [(name: String, values: [String]?)]
    let bodyBytes: Int
    let credentials: Credentials
    /// Whether the subscription was made with a VAPID key.
    let isRestricted: Bool
    /// nil: the message is accepted.
    let rejection: WebPushRejection?

    init(
        _ name: String, _ rule: String, _ changes: [(String, [String]?)] = [], body: Int = 100,
        by credentials: Credentials = .none, isRestricted: Bool = false, _ rejection: WebPushRejection? = nil
    ) {
        self.name = name
        self.rule = rule
        self.changes = changes.map { (name: $0.0, values: $0.1) }
        bodyBytes = body
        self.credentials = credentials
        self.isRestricted = isRestricted
        self.rejection = rejection
    }

    var testDescription: String { "\(name) \(rule)" }

    private static let signer = VAPIDSigner()
    private static let stranger = VAPIDSigner()

    /// The header fields by name in lower case.
    private var fields: [String: [String]] {
        var fields = ["ttl": ["60"], "content-encoding": ["aes128gcm"]]
        if bodyBytes == 0 { fields["content-encoding"] = nil }
        for (name, values) in changes { fields[name.lowercased()] = values }
        let signer = Self.signer
        switch credentials {
        case .none: break
        case .valid: fields["authorization"] = [signer.authorization(signer.token())]
        case .legacy:
            fields["authorization"] = ["WebPush " + signer.token()]
            fields["crypto-key", default: []].append("p256ecdsa=" + signer.publicKey.text)
        case .otherKey: fields["authorization"] = [Self.stranger.authorization(Self.stranger.token())]
        case .otherSignature: fields["authorization"] = [signer.authorization(Self.stranger.token())]
        case .expired: fields["authorization"] = [signer.authorization(signer.token(seconds: -1))]
        case .tooLong: fields["authorization"] = [signer.authorization(signer.token(seconds: 25 * 3600))]
        case .otherAudience:
            fields["authorization"] = [signer.authorization(signer.token(for: "https://push.example.net"))]
        case .manyAudiences:
            let claims = #"{"aud":["https://a.example","\#(origin)"],"exp":\#(present + 60)}"#
            fields["authorization"] = [signer.authorization(signer.token(claims: claims))]
        case .noExpiry:
            fields["authorization"] = [signer.authorization(signer.token(claims: #"{"aud":"\#(origin)"}"#))]
        case .noKey: fields["authorization"] = ["vapid t=" + signer.token()]
        case .hmac:
            let claims = #"{"aud":"\#(origin)","exp":\#(present + 60)}"#
            let token = signer.token(header: #"{"alg":"HS256"}"#, claims: claims)
            fields["authorization"] = [signer.authorization(token)]
        case .basic: fields["authorization"] = ["Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="]
        }
        return fields
    }

    /// Reads the request, and checks its credentials against the subscription.
    func outcome() -> Result<WebPushRequest, WebPushRejection> {
        let fields = fields
        do throws(WebPushRejection) {
            let body = [UInt8](repeating: 7, count: bodyBytes)
            let request = try WebPushRequest(body: body) { fields[$0] ?? [] }
            try VAPIDVerifier(origin: origin).verify(
                request.credentials, for: isRestricted ? Self.signer.publicKey : nil,
                at: Moment(seconds: present))
            _ = try request.browserMessage()
            return .success(request)
        } catch {
            return .failure(error)
        }
    }
}
