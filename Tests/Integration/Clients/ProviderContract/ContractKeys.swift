import Foundation
import PostriderCrypto
import PostriderNotifications

/// The keys of the teams, with valid tokens in the forms that libraries make, and with wrong ones.
struct ContractKeys {
    private let key = ES256.PrivateKey.generate()
    private let foreignKey = ES256.PrivateKey.generate()
    private static let team = "TEAM000001"
    private static let foreignTeam = "TEAM000002"

    /// All keys but the first, each with the words for a token of it.
    private var others: [(words: String, record: ProviderKeyRecord)] {
        let app = Topic(ContractFixture.topic).map { [$0] }
        let second = Topic("com.example.second").map { [$0] }
        return [
            ("another team's jwt", record("KEY0000002", of: Self.foreignTeam)),
            ("production key's jwt", record("KEY0000003", .production)),
            ("development key's jwt", record("KEY0000004", .development)),
            ("topic key's jwt", record("KEY0000005", .production, app, related: "KEY0000006")),
            ("related key's jwt", record("KEY0000006", .production, second)),
            ("unrelated topic key's jwt", record("KEY0000007", .production, app)),
            ("revoked key's jwt", record("KEY0000008").revoked(at: Moment(milliseconds: 1))),
        ]
    }

    private func record(
        _ identifier: String, of team: String = team,
        _ environment: PostriderNotifications.Environment? = nil,
        _ topics: [Topic]? = nil, related: String? = nil
    ) -> ProviderKeyRecord {
        ProviderKeyRecord(
            identifier: identifier, team: team,
            publicKey: (team == Self.team ? key : foreignKey).publicKey.pem, addedAt: Moment(milliseconds: 0),
            environment: environment, topics: topics, relatedKey: related)
    }

    /// The changes that add the keys to a registry.
    var changes: [RegistryChange] {
        let topics = [
            (ContractFixture.topic, Self.team), ("com.example.second", Self.team),
            ("com.example.foreign", Self.foreignTeam),
        ]
        let records = [record("KEY0000001")] + others.map(\.record)
        return records.map { .putProviderKey($0) }
            + topics.compactMap { text, team in
                Topic(text).map { .putTopic(TopicRecord(topic: $0, team: team)) }
            }
            + [Topic("com.example.quiet")].compactMap(\.self).map {
                .putTopic(TopicRecord(topic: $0, team: Self.team, takesBroadcasts: false))
            }
    }

    /// Returns the tokens by the words that stand for them.
    func values(at now: Int64) -> [String: String] {
        let header = #"{"alg":"ES256","kid":"KEY0000001"}"#
        func claims(_ iat: String) -> String { #"{"iss":"TEAM000001","iat":\#(iat)}"# }
        let good = claims("\(now)")
        func jwt(_ header: String = header, _ claims: String = good) -> String {
            signed(Self.base64URL, header, claims)
        }
        let byOthers = others.map { words, record in
            let claims = #"{"iss":"\#(record.team)","iat":\#(now)}"#
            let signer = record.team == Self.team ? key : foreignKey
            let header = #"{"alg":"ES256","kid":"\#(record.identifier)"}"#
            return (words, signed(Self.base64URL, header, claims, by: signer))
        }
        return Dictionary(uniqueKeysWithValues: byOthers).merging([
            "jwt": jwt(),
            "second jwt": jwt(header, claims("\(now - 1)")),
            "jwt with a DER signature": signed(Self.base64URL, header, good, isDER: true),
            "jwt in padded base64": signed({ $0.base64EncodedString() }, header, good),
            "jwt with iat as text": jwt(header, claims("\"\(now)\"")),
            "jwt with iat as a float": jwt(header, claims("\(now).25")),
            "jwt with other claims": jwt(
                header, #"{"iss":"TEAM000001","iat":\#(now),"exp":1,"nbf":4102444800,"aud":"x","kid":"y"}"#),
            "jwt without alg": jwt(#"{"kid":"KEY0000001","typ":"JWT"}"#),
            "jwt with line breaks": jwt("{\n  \"alg\": \"ES256\",\n  \"kid\": \"KEY0000001\"\n}"),
            "no jwt": "a.b.c",
            "jwt without signature": jwt().split(separator: ".").dropLast().joined(separator: "."),
            "jwt with alg none": jwt(#"{"alg":"none","kid":"KEY0000001"}"#),
            "jwt with alg HS256": jwt(#"{"alg":"HS256","kid":"KEY0000001"}"#),
            "jwt without kid": jwt(#"{"alg":"ES256"}"#),
            "jwt of an unknown key": jwt(#"{"alg":"ES256","kid":"KEY0000009"}"#),
            "jwt signed with another key": signed(Self.base64URL, header, good, by: foreignKey),
            "jwt with another team": jwt(header, #"{"iss":"TEAM000002","iat":\#(now)}"#),
            "jwt without iss": jwt(header, #"{"iat":\#(now)}"#),
            "jwt without iat": jwt(header, #"{"iss":"TEAM000001"}"#),
            "jwt with iat as a word": jwt(header, claims("\"now\"")),
            "jwt with a critical extension": jwt(#"{"alg":"ES256","kid":"KEY0000001","crit":["x"],"x":1}"#),
            "jwt of 59 minutes ago": jwt(header, claims("\(now - 59 * 60)")),
            "jwt of 61 minutes ago": jwt(header, claims("\(now - 61 * 60)")),
            "jwt of in 59 minutes": jwt(header, claims("\(now + 59 * 60)")),
            "jwt of in 61 minutes": jwt(header, claims("\(now + 61 * 60)")),
        ]) { $1 }
    }

    private func signed(
        _ encode: (Data) -> String, _ header: String, _ claims: String, by signer: ES256.PrivateKey? = nil,
        isDER: Bool = false
    ) -> String {
        let message = encode(Data(header.utf8)) + "." + encode(Data(claims.utf8))
        let signature = (signer ?? key).signature(for: Array(message.utf8).span)
        return message + "." + encode(Data(isDER ? Self.der(signature) : signature))
    }

    private static func base64URL(_ data: Data) -> String {
        data.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing(
            "=", with: "")
    }

    /// Returns the DER form of a signature (ECDSA-Sig-Value, RFC 3279, section 2.2.3) from r‖s.
    private static func der(_ raw: [UInt8]) -> [UInt8] {
        var body: [UInt8] = []
        for half in [raw[..<32], raw[32...]] {
            let digits = Array(half.drop { $0 == 0 })
            let sign: [UInt8] = digits[0] & 0x80 == 0 ? [] : [0]
            body += [2, UInt8(sign.count + digits.count)] + sign + digits
        }
        return [0x30, UInt8(body.count)] + body
    }
}
