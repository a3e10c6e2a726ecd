import FoundationEssentials
import PostriderCrypto
import PostriderNotifications

@testable import PostriderProviderAPI
@testable import PostriderRelay

/// A team with one key and one app on one device, and a relay's access policy for them. Everything is constant, so
/// that an input has the same result in every run.
enum FuzzedProvider {
    static let team = "TEAM000001"
    static let keyIdentifier = "KEY0000001"
    static let now = Moment(milliseconds: 1_700_000_000_000)
    static let topics = ["com.example.app", "com.example.app.voip"].compactMap(Topic.init)
    static let device = DeviceIdentity(high: 0x0102_0304_0506_0708, low: 0x090A_0B0C)
    static let registration = RegistrationNumber(1, in: .production)

    /// A key that is used for nothing else.
    static let key: ES256.PrivateKey = {
        let pem = """
            -----BEGIN PRIVATE KEY-----
            MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgQkLApVfrH4GI/c2G
            QT+L/YudA19w5Ln60scYI3jXa1mhRANCAARjdBSWe4DzTNahl/Q6twZrU44BAWeC
            jbiYcY6PJtLVZgEdm3WRPoLxEWYEoIVTqZQfmbEy88W4CfJk/+KKaFAH
            -----END PRIVATE KEY-----
            """
        guard let key = try? ES256.PrivateKey(pem: pem) else { preconditionFailure("the key is good") }
        return key
    }()

    static let authority = AccessPolicy(
        generation: 1,
        providerKeys: [
            ProviderKeyRecord(
                identifier: keyIdentifier, team: team, publicKey: key.publicKey.pem, addedAt: now)
        ],
        topics: topics.map { TopicRecord(topic: $0, team: team) } + quiet,
        enrolmentKeys: [],
        log: .none
    )

    /// An app that may not have channels.
    private static let quiet = [Topic("com.example.app.quiet")].compactMap(\.self)
        .map { TopicRecord(topic: $0, team: team, takesBroadcasts: false) }

    static func makeSeal() -> DeviceTokenCodec {
        let secret = [UInt8](repeating: 5, count: DeviceTokenCodec.secretByteCount)
        guard let seal = try? DeviceTokenCodec(secrets: [secret]) else {
            preconditionFailure("the secret is good")
        }
        return seal
    }

    /// The device token of the app.
    static let deviceToken = makeSeal().seal(device, registration).hex

    /// A valid provider token.
    static let token: [UInt8] = sign(
        header: Array(#"{"alg":"ES256","kid":"\#(keyIdentifier)"}"#.utf8),
        claims: Array(#"{"iss":"\#(team)","iat":1700000000}"#.utf8))

    /// Makes a signed provider token of these parts.
    static func sign(header: [UInt8], claims: [UInt8]) -> [UInt8] {
        let signed = base64URL(header) + [UInt8(ascii: ".")] + base64URL(claims)
        return signed + [UInt8(ascii: ".")] + base64URL(key.signature(for: signed.span))
    }

    static func base64URL(_ bytes: [UInt8]) -> [UInt8] {
        Data(bytes).base64EncodedString().utf8.compactMap { byte in
            switch byte {
            case UInt8(ascii: "+"): UInt8(ascii: "-")
            case UInt8(ascii: "/"): UInt8(ascii: "_")
            case UInt8(ascii: "="): nil
            default: byte
            }
        }
    }
}
