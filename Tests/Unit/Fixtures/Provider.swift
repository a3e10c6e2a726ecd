package import FoundationEssentials
package import PostriderCallbacks
package import PostriderCrypto
import PostriderHTTP2
package import PostriderNotifications
package import PostriderProviderAPI

/// A team with its key, and a relay's access policy that knows it.
package struct Provider {
    package static let shared = Provider()

    package static let enrolmentKey = "enrol-fleet"

    package let key = ES256.PrivateKey.generate()
    package let otherKey = ES256.PrivateKey.generate()
    package let now = Samples.now
    /// An access policy with two teams; the second one owns the second key and the second topic.
    package let authority: AccessPolicy

    private init() {
        authority = Self.authority(
            generation: 1, keys: [("KEY0000001", "TEAM000001", key), ("KEY0000002", "TEAM000002", otherKey)])
    }

    package static func authority(
        generation: UInt64, keys: [(identifier: String, team: String, key: ES256.PrivateKey)]
    ) -> AccessPolicy {
        authority(
            generation: generation,
            records: keys.map {
                ProviderKeyRecord(
                    identifier: $0.identifier, team: $0.team, publicKey: $0.key.publicKey.pem,
                    addedAt: Samples.now)
            })
    }

    package static func authority(generation: UInt64, records: [ProviderKeyRecord]) -> AccessPolicy {
        AccessPolicy(
            generation: generation,
            providerKeys: records,
            topics: [
                TopicRecord(topic: Samples.topic, team: "TEAM000001"),
                TopicRecord(topic: Samples.named("com.example.app.voip"), team: "TEAM000001"),
                TopicRecord(topic: Samples.otherTopic, team: "TEAM000002"),
            ],
            enrolmentKeys: [
                EnrolmentKeyRecord(
                    name: "fleet", digest: SHA256.digest(Array(Self.enrolmentKey.utf8).span).bytes,
                    addedAt: Samples.now,
                    tags: [DeviceTag("fleet")].compactMap { $0 })
            ],
            log: .none
        )
    }

    /// Makes a token from its two JSON parts as text.
    package func token(
        header: String = #"{"alg":"ES256","kid":"KEY0000001"}"#,
        claims: String? = nil,
        signedBy other: ES256.PrivateKey? = nil,
        isDER: Bool = false,
        encode: (Data) -> String = Self.base64URL
    ) -> String {
        let claims = claims ?? #"{"iss":"TEAM000001","iat":\#(now.milliseconds / 1000)}"#
        let signed = encode(Data(header.utf8)) + "." + encode(Data(claims.utf8))
        return signed + "." + encode(Data(signature(of: signed, by: other, isDER: isDER)))
    }

    /// Signs this text with the team's key or with another key.
    package func signature(
        of text: String = "", by other: ES256.PrivateKey? = nil, isDER: Bool
    ) -> [UInt8] {
        let raw = (other ?? key).signature(for: Array(text.utf8).span)
        return isDER ? Self.der(raw) : raw
    }

    package static func base64URL(_ data: Data) -> String {
        data.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing(
            "=", with: "")
    }

    package static func padded(_ data: Data) -> String { data.base64EncodedString() }

    /// Returns the DER form of a signature (ECDSA-Sig-Value, RFC 3279 section 2.2.3) from r‖s.
    private static func der(_ raw: [UInt8]) -> [UInt8] {
        var body: [UInt8] = []
        for half in [raw[..<32], raw[32...]] {
            let digits = Array(half.drop { $0 == 0 })
            let sign: [UInt8] = digits[0] & 0x80 == 0 ? [] : [0]
            body += [2, UInt8(sign.count + digits.count)] + sign + digits
        }
        return [0x30, UInt8(body.count)] + body
    }

    /// Makes the fields of a provider's valid request, with these changes.
    package func fields(_ changes: [String: String?] = [:]) -> [(String, String)] {
        var fields: [(String, String?)] = [
            (":method", "POST"), (":path", "/3/device/" + Self.deviceToken), (":scheme", "https"),
            ("authorization", "bearer " + Self.goodToken),
            ("apns-id", "9CC486EA-EA83-9351-40DF-557A308816D8"),
            ("apns-topic", Samples.topic.text), ("apns-push-type", "alert"),
        ]
        for (name, value) in changes {
            if let index = fields.firstIndex(where: { $0.0 == name }) {
                fields[index].1 = value
            } else {
                fields.append((name, value))
            }
        }
        return fields.compactMap { name, value in value.map { (name, $0) } }
    }

    package static let secret = [UInt8](repeating: 5, count: DeviceTokenCodec.secretByteCount)
    package static let goodToken = shared.token()
    package static let deviceToken: String = {
        guard let seal = try? DeviceTokenCodec(secrets: [secret]) else {
            preconditionFailure("the secret is good")
        }
        return seal.seal(Samples.device, Samples.first).hex
    }()

    /// Returns the result of the admission of a request.
    package func admit(
        _ fields: [(String, String)], body: [UInt8] = Array("{}".utf8),
        environment: PostriderNotifications.Environment = .production,
        fidelity: APNsCompatibility = APNsCompatibility(),
        authority: AccessPolicy? = nil, certificate: ProviderCertificate? = nil,
        callbacks: CallbackConfiguration? = nil
    ) throws -> Result<Notification, Rejection> {
        var block = HeaderBlock()
        for (name, value) in fields { block.add(name, value) }
        let request = PushRequest()
        request.begin(&block) { NotificationIdentity(high: 3, low: 4) }
        request.append(body.span)
        let admission = PushValidator(
            tokens: ProviderTokens(), seal: try DeviceTokenCodec(secrets: [Self.secret]),
            topics: TopicCache(),
            environment: environment, callbacks: callbacks)
        var credentials = ProviderCredentials()
        do throws(Rejection) {
            try credentials.adopt(certificate, in: environment)
            return .success(
                try admission.admit(
                    request, &credentials, by: authority ?? self.authority, isStrict: fidelity.isStrict,
                    now: now))
        } catch {
            return .failure(error)
        }
    }
}
