import Crypto
import FoundationEssentials
import Notifications
import Testing

@testable import Relay

/// A token that is refused, and why that should be.
struct BadToken: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let text: String

    init(_ why: String, _ text: String) {
        testDescription = why
        self.text = text
    }
}

@Suite("Provider tokens")
struct ProviderTokenTests {
    private static let provider = Provider.shared
    private static let seconds = Samples.now.milliseconds / 1000

    private func verify(_ text: String) throws(Rejection) -> ProviderToken {
        try ProviderToken(verifying: Array(text.utf8).span, with: Self.provider.authority)
    }

    private func verdict(_ authorization: String, at now: Moment = Samples.now) -> Rejection? {
        var credentials = ProviderCredentials()
        do throws(Rejection) {
            _ = try credentials.authenticate(
                Array(authorization.utf8).span, ProviderTokens(), Self.provider.authority, now: now)
            return nil
        } catch {
            return error
        }
    }

    private static func claims(_ iat: String) -> String { #"{"iss":"TEAM000001","iat":\#(iat)}"# }

    @Test(
        "are taken as libraries send them: base64 of either kind, raw and DER signatures",
        arguments: [false, true])
    func encodings(_ isDER: Bool) throws {
        // The length of a DER signature differs from one to the next.
        for _ in 0..<20 {
            for encode in [Provider.base64URL, Provider.padded] {
                let token = try verify(Self.provider.token(isDER: isDER, encode: encode))
                #expect(token.team == "TEAM000001" && token.keyIdentifier == "KEY0000001")
                #expect(token.issuedAt == Samples.now)
            }
        }
    }

    @Test(
        "take the moment of issue as a number or as text",
        arguments: [
            "\(seconds)", "\(seconds).0", "\(seconds).987", "\"\(seconds)\"", "\"\(seconds).5\"", "1.7e9",
        ]
    )
    func issuedAt(_ iat: String) throws {
        #expect(try verify(Self.provider.token(claims: Self.claims(iat))).issuedAt == Samples.now)
    }

    @Test(
        "are taken with claims and fields that we do not know",
        arguments: [
            (#"{"kid":"KEY0000001"}"#, claims("1700000000")),
            (#"{"alg":"ES256","typ":"JWT","kid":"KEY0000001"}"#, claims("1700000000")),
            (#"{"alg":"ES256","kid":"KEY0000001","jwk":{"kty":"EC"},"x":[1]}"#, claims("1700000000")),
            (
                "{\n \"alg\" : \"ES256\",\n \"kid\" : \"KEY0000001\"\n}",
                #"{"aud":"x","exp":1,"nbf":99999999999,"kid":"z","iss":"TEAM000001","iat":1700000000}"#
            ),
        ]
    )
    func extras(_ header: String, _ claims: String) throws {
        _ = try verify(Self.provider.token(header: header, claims: claims))
    }

    private static func header(_ header: String) -> BadToken {
        BadToken(header, provider.token(header: header))
    }
    private static func payload(_ claims: String) -> BadToken {
        BadToken(claims, provider.token(claims: claims))
    }

    private static let bad: [BadToken] = [
        header(#"{"alg":"none","kid":"KEY0000001"}"#), header(#"{"alg":"HS256","kid":"KEY0000001"}"#),
        header(#"{"alg":"es256","kid":"KEY0000001"}"#), header(#"{"alg":1,"kid":"KEY0000001"}"#),
        header(#"{"alg":"ES256"}"#), header(#"{"alg":"ES256","kid":"UNKNOWN"}"#),
        header(#"{"alg":"ES256","kid":1}"#),
        header(#"{"alg":"ES256","kid":"KEY0000002"}"#),
        header(#"{"alg":"ES256","kid":"KEY0000001","crit":["b64"],"b64":false}"#),
        header(#"{"alg":"ES256","kid":"KEY0000001","crit":"b64"}"#), header("[]"), header(""), header("{"),
        payload(#"{"iss":"TEAM000002","iat":1700000000}"#), payload(#"{"iat":1700000000}"#),
        payload(#"{"iss":"TEAM000001"}"#), payload(claims("null")), payload(claims("true")),
        payload(claims("\"soon\"")),
        payload(claims("\"nan\"")), payload(claims("1e300")), payload(claims("{}")), payload(""),
        BadToken("signed by the other key", provider.token(signedBy: provider.otherKey)),
        BadToken("no signature", provider.token().split(separator: ".")[..<2].joined(separator: ".") + "."),
        BadToken("two parts", provider.token().split(separator: ".")[..<2].joined(separator: ".")),
        BadToken("four parts", provider.token() + ".AAAA"), BadToken("empty", ""), BadToken("dots", ".."),
        BadToken("not base64", provider.token() + "!"),
        BadToken(
            "oversized",
            provider.token(claims: claims("1700000000,\"x\":\"\(String(repeating: "x", count: 4096))\""))),
    ]

    @Test("are refused for every other reason as invalid", arguments: bad)
    func refused(_ token: BadToken) {
        #expect(throws: Rejection.invalidProviderToken) { try verify(token.text) }
        #expect(
            verdict("bearer " + token.text)
                == (token.text.isEmpty ? .missingProviderToken : .invalidProviderToken))
    }

    @Test("are refused when any character of them is another")
    func tampered() {
        let text = Array(Provider.goodToken.utf8)
        for index in stride(from: 0, to: text.count - 2, by: 3) {
            var other = text
            other[index] = other[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            #expect(throws: Rejection.invalidProviderToken, "character \(index)") {
                try ProviderToken(verifying: other.span, with: Self.provider.authority)
            }
        }
    }

    @Test(
        "follow a scheme of any case and any number of spaces",
        arguments: ["bearer ", "Bearer ", "BEARER   "])
    func scheme(_ scheme: String) {
        #expect(verdict(scheme + Provider.goodToken) == nil)
    }

    @Test(
        "are good for an hour before and after their issue",
        arguments: [
            (0, nil), (3_600_000, nil), (-3_600_000, nil), (3_600_001, .expiredProviderToken),
            (-3_600_001, .expiredProviderToken), (.max - 1_700_000_000_000, .expiredProviderToken),
        ] as [(Int64, Rejection?)]
    )
    func lifetime(_ milliseconds: Int64, _ expected: Rejection?) {
        let now = Samples.now.advanced(byMilliseconds: milliseconds)
        #expect(verdict("bearer " + Provider.goodToken, at: now) == expected)
    }

    @Test("expire on a connection that goes on using them")
    func expiresLater() throws {
        var credentials = ProviderCredentials()
        let tokens = ProviderTokens()
        let text = Array(("bearer " + Provider.goodToken).utf8)
        _ = try credentials.authenticate(text.span, tokens, Self.provider.authority, now: Samples.now)
        #expect(throws: Rejection.expiredProviderToken) {
            try credentials.authenticate(
                text.span, tokens, Self.provider.authority,
                now: Samples.now.advanced(byMilliseconds: 3_600_001))
        }
    }

    @Test("are forgotten, by shard and by connection, when the operator removes their key")
    func generations() throws {
        var credentials = ProviderCredentials()
        let tokens = ProviderTokens()
        let text = Array(("bearer " + Provider.goodToken).utf8)
        _ = try credentials.authenticate(text.span, tokens, Self.provider.authority, now: Samples.now)
        let without = Provider.authority(generation: 2, keys: [])
        #expect(throws: Rejection.invalidProviderToken) {
            try credentials.authenticate(text.span, tokens, without, now: Samples.now)
        }
        let again = Provider.authority(generation: 3, keys: [("KEY0000001", "TEAM000009", Self.provider.key)])
        #expect(throws: Rejection.invalidProviderToken) {
            try credentials.authenticate(text.span, tokens, again, now: Samples.now)
        }
        let back = Provider.authority(generation: 4, keys: [("KEY0000001", "TEAM000001", Self.provider.key)])
        #expect(try credentials.authenticate(text.span, tokens, back, now: Samples.now) == "TEAM000001")
    }

    @Test("are remembered in two generations: what is in use stays, the rest goes")
    func bounded() throws {
        let tokens = ProviderTokens()
        let remembered = Array(Provider.goodToken.utf8)
        let authority = Self.provider.authority
        let first = try tokens.token(remembered.span, by: authority)
        for number in 0..<Limits.cachedProviderTokens / 2 + 10 {
            let text = Self.provider.token(claims: #"{"iss":"TEAM000001","iat":1700000000,"n":\#(number)}"#)
            _ = try tokens.token(Array(text.utf8).span, by: authority)
            if number % 500 == 0 { #expect(try tokens.token(remembered.span, by: authority) == first) }
        }
        #expect(try tokens.token(remembered.span, by: authority) == first)
    }
}
