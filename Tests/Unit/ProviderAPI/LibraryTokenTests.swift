import FoundationEssentials
import PostriderCrypto
import PostriderNotifications
import RelayFixtures
import Testing

@testable import PostriderProviderAPI

/// A provider token as one library makes it, with small differences in some tests.
struct LibraryToken: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let text: String
    let isAccepted: Bool

    /// - Parameter signature: the third part of the token, as it is sent.
    init(
        _ library: String, _ header: String, _ claims: String, isPadded: Bool = false, signature: String,
        isAccepted: Bool
    ) {
        testDescription = library
        let encode = isPadded ? Provider.padded : Provider.base64URL
        text = [encode(Data(header.utf8)), encode(Data(claims.utf8)), signature].joined(separator: ".")
        self.isAccepted = isAccepted
    }
}

@Suite("Provider tokens of real libraries")
struct LibraryTokenTests {
    /// The libraries differ in the order and spacing of header and claims, and in `iat`, which is an integer, a float
    /// or a string. The signatures were made once, outside of this project, with the key below.
    static let tokens = [
        LibraryToken(
            "Apple's recipe for the shell", #"{ "alg": "ES256", "kid": "KEY0000001" }"#,
            #"{ "iss": "TEAM000001", "iat": 1700000000 }"#,
            signature:
                "MEUCIQDtcGTemTHgMtUb96GARWkGsKUMYbu99fmE5piGt3jaRAIgLqtFGN1VKbcyu6UQNHib1T2iRN9_Dw-TLXe_"
                + "ePzwLSk",
            isAccepted: true),
        LibraryToken(
            "Pushy (Java)", #"{"alg":"ES256","typ":"JWT","kid":"KEY0000001"}"#,
            #"{"iss":"TEAM000001","iat":1700000000}"#,
            signature:
                "MEUCIQDBFAiMdIxWQqmvIHgtgqGLPumAEuiiMxb0yJQzmaGDDQIgJexZpYzk5S3CInNNmz9XKGboVeZJNLfpmDDC"
                + "FGXMq6w",
            isAccepted: true),
        LibraryToken(
            "apnotic (Ruby)", #"{"alg":"ES256","kid":"KEY0000001"}"#,
            #"{"iss":"TEAM000001","iat":1700000000}"#,
            signature:
                "MEYCIQCwoYfgBwiN5XBuU9h0-vmUzwd1UV1srrM0e1CeGBmTtgIhAMPbaCe7pHcp86_xJAx1BDBHOuEfVg0zNAho"
                + "CUdJjjpn",
            isAccepted: true),
        LibraryToken(
            "a2 (Rust)", #"{"alg":"ES256","kid":"KEY0000001"}"#,
            #"{"iss":"TEAM000001","iat":1700000000}"#, isPadded: true,
            signature:
                "MEUCIApNQ04S9LZV4o44GTVPnIjfEkAgZqXmZ5Xv24YFgFFuAiEAlJFbeeSsm1WtAL6o6i7Jy++nIj9jndZTWWru"
                + "IHijr/o=",
            isAccepted: true),
        LibraryToken(
            "dotAPNS (.NET)", #"{"alg":"ES256","kid":"KEY0000001"}"#,
            #"{"iss":"TEAM000001","iat":1700000000}"#, isPadded: true,
            signature:
                "NWEDxpKyNL0FtlKWw5mIkDQ+vVWLvWMfY8fqYi0YET85oU6KiAXYWkGJCfG9DxUrkLWQnbfjZ4mzT8jiBGCkkA==",
            isAccepted: true),
        LibraryToken(
            "APNSwift",
            "{\n    \"alg\": \"ES256\",\n    \"typ\": \"JWT\",\n    \"kid\": \"KEY0000001\"\n}",
            "{\n    \"iss\": \"TEAM000001\",\n    "
                + "\"iat\": \"1700000000\",\n    \"kid\": \"KEY0000001\"\n}",
            signature:
                "wNJRthPMtdAzuPcertPsYaWp3aIi7mVmbSBAyqk6Rhe5vB0ngeaN5B9RfUOl7A_TFiBlvlIRMfmRM7a-_g8qkg",
            isAccepted: true),
        LibraryToken(
            "aioapns (Python)", #"{"alg":"ES256","kid":"KEY0000001","typ":"JWT"}"#,
            #"{"iss":"TEAM000001","iat":1700000000}"#,
            signature:
                "9_Ke53KE40ur6ieAJXJMhjIoSaOFiIs8IGOvQy-bpCr_AKhH8uxVLTPmfziS80y3N9N5eA1tf9rqPInXi4ZkIw",
            isAccepted: true),
        LibraryToken(
            "kalyke (Python)", #"{"alg":"ES256","kid":"KEY0000001","typ":"JWT"}"#,
            #"{"iss":"TEAM000001","iat":"1700000000"}"#,
            signature:
                "qACbRLoV4imSOJsk2y1PqzbU0RlARIgabG13rzoXdc_Xct3iJTI8WPTPQPQ2HbnelbgQqtpUyL7x7IH3W32xKQ",
            isAccepted: true),
        LibraryToken(
            "pyapns_client (Python)", #"{"alg":"ES256","kid":"KEY0000001","typ":"JWT"}"#,
            #"{"iss":"TEAM000001","iat":1700000000.123456}"#,
            signature:
                "V9DleSZJztPAMjtK-_v5XEPTjZXU9iniFUvMZbsrcEuFys2WKpszkVr83iXu1Xh8SDz0aPhv3HysBIZ_7LHZTA",
            isAccepted: true),
        LibraryToken(
            "sideshow/apns2 (Go)", #"{"alg":"ES256","kid":"KEY0000001"}"#,
            #"{"iat":1700000000,"iss":"TEAM000001"}"#,
            signature:
                "G7vwbGzszHAN4Rv5oTyhcpPJhr5_4tYlywKj5VvQzvdZOYba_53JEuL05TIcd9_JtFIZj9cONUqUQ0g34swdrQ",
            isAccepted: true),
        LibraryToken(
            "node-apn", #"{"alg":"ES256","typ":"JWT","kid":"KEY0000001"}"#,
            #"{"iat":1700000000,"iss":"TEAM000001"}"#,
            signature:
                "H7DhiWWxu08PZjaAZu_kTJ4xhCbXLKOOnEeBJQjgX4_jh4VebVRGXwfxlPSw4BcE9J6CxkJHNtF-fcbH57ye9w",
            isAccepted: true),
        LibraryToken(
            "pigeon (Elixir)", #"{"alg":"ES256","kid":"KEY0000001","typ":"JWT"}"#,
            #"{"aud":"Joken","exp":1700007200,"#
                + #""iat":1700000000,"iss":"TEAM000001","jti":"2uhfl5jmm4b2bjqb2s000081","nbf":1700000000}"#,
            signature:
                "dN20D36ets44ubscpZf4qT0RJOc8I5S-Srqx2kCootJxOhIwCLt6VMBHqE-ZJnUHj873vs7yUvBNb94i0lbuwA",
            isAccepted: true),
        LibraryToken(
            "pushok (PHP) before 2019", #"{"alg":"ES256","kid":"KEY0000001"}"#,
            #"{"iss":"TEAM000001","iat":1700000000}"#,
            signature:
                "cgMwcg59kV3C2U_jL5y2VIi3aw1Us6SjtANgHOIZhpJsIy9mjgavsCs4I80Rkzii70beVmPQ10XNb-1WbWlzTw",
            isAccepted: true),
        LibraryToken(
            "pushok (PHP)", #"{"alg":"ES512","kid":"KEY0000001"}"#,
            #"{"iss":"TEAM000001","iat":1700000000}"#,
            signature:
                "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAVN_HnaRLF94K8nw4A0N_L9kA9e90DzjmQQsemqqZW5"
                + "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAHKCMNeJz9mXFg3VXVLEWZSxSdjgNWFVBvg2_bZmjNps",
            isAccepted: true),
        LibraryToken(
            "pushok's with its bytes in DER", #"{"alg":"ES512","kid":"KEY0000001"}"#,
            #"{"iss":"TEAM000001","iat":1700000000}"#,
            signature:
                "MEUCIF7eKKQNM8icMFUxXbWbHzMTgf07aWzRUNy_Xd1yVvjlAiEAoJHV7COsqhQ2OBDtxJYHoMTt_R_7A4hGyDjX"
                + "FgSFwG8",
            isAccepted: false),
        LibraryToken(
            "pushok's without padding", #"{"alg":"ES512","kid":"KEY0000001"}"#,
            #"{"iss":"TEAM000001","iat":1700000000}"#,
            signature:
                "lMXQF0Jv3I3I8Lg24-0FKu3cc4Uvun1VGAyU7MzN-jxAsnuB4Yl1lkry_toEQzsPEEqNzVahLhf_iwCH5Pm2Cg",
            isAccepted: false),
        LibraryToken(
            "pushok's over SHA-256", #"{"alg":"ES512","kid":"KEY0000001"}"#,
            #"{"iss":"TEAM000001","iat":1700000000}"#,
            signature:
                "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAGFzYw7vb7xbCRVQw18U6mQxwRjcmYlFipO5nv6RdM58"
                + "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAF84zUHqaPZX_jDNf9yf3sD0oD6iLKgMyBDx3da0kZGK",
            isAccepted: false),
        LibraryToken(
            "pushok's over SHA-256, without padding", #"{"alg":"ES512","kid":"KEY0000001"}"#,
            #"{"iss":"TEAM000001","iat":1700000000}"#,
            signature:
                "K_EQy3JqyQ8uwIF5a8PTtTSYEy56dn0ba-aiqRdS-ADLwCFheJZItASgc3CCR3fYdoegSOK8NFiJEufqGLLFXg",
            isAccepted: false),
        LibraryToken(
            "pushok's called ES256", #"{"alg":"ES256","kid":"KEY0000001"}"#,
            #"{"iss":"TEAM000001","iat":1700000000}"#,
            signature:
                "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAPnKL_cfwxBD8li6awA_9CeveRd4IvGIqYJuRElpng58"
                + "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAADz745_lX8YqxMagwR4Rgqj5SPmR4XjyAK6N1dIvt_0G",
            isAccepted: false),
        LibraryToken(
            "ES256 padded like pushok's", #"{"alg":"ES256","kid":"KEY0000001"}"#,
            #"{"iss":"TEAM000001","iat":1700000000}"#,
            signature:
                "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAHJXy1emV9YiBT9COPNdoL22KbsnoVnNqkoGDdUp_iww"
                + "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAMNB4zPPp4Bj7Doxk8STn4yFfkWBxCsiWABqR-hNZtHu",
            isAccepted: false),
        LibraryToken(
            "ES256 over SHA-512", #"{"alg":"ES256","kid":"KEY0000001"}"#,
            #"{"iss":"TEAM000001","iat":1700000000}"#,
            signature:
                "Se7GQo6NrMk3lO0d-Oz7nTeON914OE_-HzdH6GoF8QAmectfqjp9Ld1urD1jNzFx66QAjkYFsH0tT0a3CDHRfQ",
            isAccepted: false),
        LibraryToken(
            "pushok's called ES384", #"{"alg":"ES384","kid":"KEY0000001"}"#,
            #"{"iss":"TEAM000001","iat":1700000000}"#,
            signature:
                "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAMvoKY36hnKqa2dP1Zlf2bsA5Sh_dwsxqZkobXG9Qzji"
                + "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAALT3Mf0yY3K0BNpkd1a_X9CQSCnEoKDHzkyu3yaX4ZYe",
            isAccepted: false),
        LibraryToken(
            "pushok's in lower case", #"{"alg":"es512","kid":"KEY0000001"}"#,
            #"{"iss":"TEAM000001","iat":1700000000}"#,
            signature:
                "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAMmEdQ1Cl56eBWBhYq0681bFM2AWgUqSvS3pSBGl20v0"
                + "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAZSpAOvg0m0JzJL_WePpAo5yKtat22uMbnl9KdjNxra",
            isAccepted: false),
        LibraryToken(
            "pushok's with something in its padding", #"{"alg":"ES512","kid":"KEY0000001"}"#,
            #"{"iss":"TEAM000001","iat":1700000000}"#,
            signature:
                "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAUBgP4UtSgGmT1rZTsw8KQdKeTRjgaUyQxHudmnf2ptn"
                + "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAEiKwsRJNn5lkzw4EJw0rS5eyZevdexCYVrIFjzpzb9J",
            isAccepted: false),
        LibraryToken(
            "pushok's with r of 0", #"{"alg":"ES512","kid":"KEY0000001"}"#,
            #"{"iss":"TEAM000001","iat":1700000000}"#,
            signature:
                "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
                + "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAHZ_9SOKHqv-j2NP_r-LN--Lmo6dZh2LYaKYqNhDsx3Q",
            isAccepted: false),
        LibraryToken(
            "pushok's, a byte longer", #"{"alg":"ES512","kid":"KEY0000001"}"#,
            #"{"iss":"TEAM000001","iat":1700000000}"#,
            signature:
                "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAABaGUEqY3aIXFTEJcxHSxSPAFWdpIzpjJeecMWF0MCR_"
                + "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAC4UE8Umx-lU5lg0YYyC_B-sL_n1CbL-uKSGvkDR-Ot"
                + "AA",
            isAccepted: false),
        LibraryToken(
            "pushok's, a byte shorter", #"{"alg":"ES512","kid":"KEY0000001"}"#,
            #"{"iss":"TEAM000001","iat":1700000000}"#,
            signature:
                "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAMCAJDYIIZ0DfZe72MxIygNyGs1T7pwZD4kitXM3gD5W"
                + "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAFp460fq_W51sC5fksYGl8Av_QaG88ruKFjPNfV0BZc",
            isAccepted: false),
        LibraryToken(
            "pushok's with r and s exchanged", #"{"alg":"ES512","kid":"KEY0000001"}"#,
            #"{"iss":"TEAM000001","iat":1700000000}"#,
            signature:
                "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAG__Y6D3OsssHDattjB-15IZPCoshw-3MnWafVxTOT0n"
                + "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAK9f7whWf3eK6vNGv3Akwa8bKZ3feY3A1g0t303fyk0L",
            isAccepted: false),
    ]

    private static let publicKey = """
        -----BEGIN PUBLIC KEY-----
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEERp8EMIF7cIZOmEEqfiO9VsWOFJq
        hPzbra0PPKvOO/8mB91kskVpZElEtG4aTgZ4MSDlNzNNd1ORnC+K6FoRjQ==
        -----END PUBLIC KEY-----
        """

    private static let authority = AccessPolicy(
        generation: 1,
        providerKeys: [
            ProviderKeyRecord(
                identifier: "KEY0000001", team: "TEAM000001", publicKey: publicKey, addedAt: Samples.now)
        ],
        topics: [TopicRecord(topic: Samples.topic, team: "TEAM000001")],
        enrolmentKeys: [], log: .none)

    @Test(
        "are accepted as they are sent, and nothing else that looks like them", .bug(id: "R7"),
        arguments: tokens)
    func verdict(_ token: LibraryToken) throws {
        let text = Array(token.text.utf8)
        guard token.isAccepted else {
            #expect(throws: Rejection.invalidProviderToken) {
                try ProviderToken(verifying: text.span, with: Self.authority)
            }
            return
        }
        let verified = try ProviderToken(verifying: text.span, with: Self.authority)
        #expect(verified.key.identifier == "KEY0000001" && verified.key.team == "TEAM000001")
        #expect(verified.issuedAt == Samples.now)
    }
}
