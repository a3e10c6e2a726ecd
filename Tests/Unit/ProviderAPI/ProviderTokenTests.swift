import FoundationEssentials
import PostriderCrypto
import PostriderNotifications
import RelayFixtures
import Testing

@testable import PostriderProviderAPI

/// A token that must be refused, with the reason.
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
        AuthenticatedConnection().push(authorization, at: now)
    }

    private static func claims(_ iat: String) -> String { #"{"iss":"TEAM000001","iat":\#(iat)}"# }

    private static let writings: [@Sendable (Data) -> String] = [
        { Provider.base64URL($0) }, { Provider.padded($0) },
        { $0.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_") },
        { $0.base64EncodedString().replacing("=", with: "") },
    ]

    @Test(
        "are taken as they are sent: base64 of either kind, padded or not; raw and DER signatures (3.1)",
        arguments: [false, true], 0..<4)
    func encodings(_ isDER: Bool, _ encoding: Int) throws {
        // The length of a DER signature varies.
        for _ in 0..<20 {
            let token = try verify(
                Self.provider.token(isDER: isDER, encode: Self.writings[encoding]))
            #expect(token.key.team == "TEAM000001" && token.key.identifier == "KEY0000001")
            #expect(token.issuedAt == Samples.now)
        }
    }

    @Test(
        "take the moment of issue as a number or as text",
        arguments: [
            "\(seconds)", "\(seconds).0", "\(seconds).987", "\"\(seconds)\"", "\"\(seconds).5\"", "1.7e9",
            "\"1.7e9\"",
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
            (#"{"alg":"ES256","kid":"KEY0000001","x5t":"AA","x":[1]}"#, claims("1700000000")),
            (#"{"alg":null,"kid":"KEY0000001"}"#, claims("1700000000")),
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

    /// Makes a token with another signature.
    private static func signature(_ why: String, _ bytes: [UInt8]) -> BadToken {
        let parts = provider.token().split(separator: ".")
        return BadToken(why, parts[..<2].joined(separator: ".") + "." + Provider.base64URL(Data(bytes)))
    }
    private static let zero = [UInt8](repeating: 0, count: 32)
    private static let one = [UInt8](repeating: 0, count: 31) + [1]
    /// The order of P-256.
    private static let order: [UInt8] =
        [0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]
        + [0xBC, 0xE6, 0xFA, 0xAD, 0xA7, 0x17, 0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2, 0xFC, 0x63, 0x25, 0x51]

    private static let bad: [BadToken] = [
        header(#"{"alg":"none","kid":"KEY0000001"}"#), header(#"{"alg":"HS256","kid":"KEY0000001"}"#),
        header(#"{"alg":"RS256","kid":"KEY0000001"}"#), header(#"{"alg":"ES384","kid":"KEY0000001"}"#),
        header(#"{"alg":"","kid":"KEY0000001"}"#),
        header(#"{"alg":"es256","kid":"KEY0000001"}"#), header(#"{"alg":1,"kid":"KEY0000001"}"#),
        header(#"{"alg":"ES256"}"#), header(#"{"alg":"ES256","kid":"UNKNOWN"}"#),
        header(#"{"alg":"ES256","kid":1}"#),
        header(#"{"alg":"ES256","kid":"KEY0000002"}"#), header(#"{"alg":"ES256","kid":""}"#),
        header(#"{"alg":"ES256","kid":"key0000001"}"#), header(#"{"alg":"ES256","kid":"KEY0000001\u0000"}"#),
        header(#"{"alg":"ES256","kid":" KEY0000001"}"#),
        // The Kelvin sign: to Swift it equals a K.
        header("{\"alg\":\"ES256\",\"kid\":\"\u{212A}EY0000001\"}"),
        header(#"{"alg":"ES256","kid":"\#(String(repeating: "K", count: 65))"}"#),
        header(#"{"alg":"ES256","kid":"KEY0000001","jwk":{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}}"#),
        header(#"{"alg":"ES256","kid":"KEY0000001","jku":"https://example.com/keys"}"#),
        header(#"{"alg":"ES256","kid":"KEY0000001","x5u":"https://example.com/chain"}"#),
        header(#"{"alg":"ES256","kid":"KEY0000001","x5c":[]}"#),
        header(#"{"alg":"ES256","kid":"KEY0000001","crit":null}"#),
        header(#"{"alg":"ES256","kid":"KEY0000001","crit":[]}"#),
        header(#"{"alg":"ES256","kid":"KEY0000001","crit":["b64"],"b64":false}"#),
        header(#"{"alg":"ES256","kid":"KEY0000001","crit":"b64"}"#), header("[]"), header(""), header("{"),
        payload(#"{"iss":"TEAM000002","iat":1700000000}"#), payload(#"{"iat":1700000000}"#),
        payload(#"{"iss":"TEAM000001"}"#), payload(claims("null")), payload(claims("true")),
        payload(claims("\"soon\"")),
        payload(claims("\"nan\"")), payload(claims("1e300")), payload(claims("{}")), payload(""),
        signature("r = 0", zero + one), signature("s = 0", one + zero), signature("r and s = 0", zero + zero),
        signature("r = n", order + one), signature("s = n", one + order),
        signature("all ones", [UInt8](repeating: 0xFF, count: 64)),
        signature("DER, r = 0", [0x30, 6, 2, 1, 0, 2, 1, 1]), signature("DER of nothing", [0x30, 0]),
        signature("DER, a byte after it", provider.signature(isDER: true) + [0]),
        signature("63 bytes", provider.signature(isDER: false).dropLast()),
        signature("65 bytes", provider.signature(isDER: false) + [0]),
        BadToken("signed by the other key", provider.token(signedBy: provider.otherKey)),
        BadToken("no signature", provider.token().split(separator: ".")[..<2].joined(separator: ".") + "."),
        BadToken("two parts", provider.token().split(separator: ".")[..<2].joined(separator: ".")),
        BadToken("four parts", provider.token() + ".AAAA"), BadToken("empty", ""), BadToken("dots", ".."),
        BadToken("not base64", provider.token() + "!"),
        BadToken(
            "oversized",
            provider.token(claims: claims("1700000000,\"x\":\"\(String(repeating: "x", count: 4096))\""))),
    ]

    @Test("are refused for every other reason as invalid (3.1, 3.2)", arguments: bad)
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
        "follow a scheme of any case, with any number of spaces around them (3.1)",
        arguments: ["bearer ", "Bearer ", "BEARER   ", "bEaReR "])
    func scheme(_ scheme: String) {
        #expect(verdict(scheme + Provider.goodToken) == nil)
        #expect(verdict(scheme + Provider.goodToken + "  ") == nil)
    }

    @Test(
        "are missing where there is another scheme, or none, or nothing behind it (3.2)",
        arguments: [nil, "", "bearer", "bearer ", "bearer    ", "basic abc", "token abc", "bearer\tabc"])
    func missing(_ authorization: String?) {
        #expect(AuthenticatedConnection().push(authorization) == .missingProviderToken)
    }

    @Test(
        "are good for an hour before and after their issue (3.2)",
        arguments: [
            (0, nil), (3_600_000, nil), (-3_600_000, nil), (3_600_001, .expiredProviderToken),
            (-3_600_001, .expiredProviderToken), (.max - 1_700_000_000_000, .expiredProviderToken),
        ] as [(Int64, Rejection?)]
    )
    func lifetime(_ milliseconds: Int64, _ expected: Rejection?) {
        let now = Samples.now.advanced(byMilliseconds: milliseconds)
        #expect(verdict("bearer " + Provider.goodToken, at: now) == expected)
    }

    @Test("are remembered in two generations: what is in use stays, the rest goes")
    func bounded() throws {
        let tokens = ProviderTokens()
        let remembered = Array(Provider.goodToken.utf8)
        let authority = Self.provider.authority
        func token(_ text: [UInt8]) throws -> ProviderToken {
            try tokens.token(text.span, SHA256.digest(text.span), by: authority)
        }
        let first = try token(remembered)
        for number in 0..<Limits.cachedProviderTokens / 2 + 10 {
            let text = Self.provider.token(claims: #"{"iss":"TEAM000001","iat":1700000000,"n":\#(number)}"#)
            _ = try token(Array(text.utf8))
            if number % 500 == 0 { #expect(try token(remembered).key === first.key) }
        }
        #expect(try token(remembered).issuedAt == first.issuedAt)
    }
}
