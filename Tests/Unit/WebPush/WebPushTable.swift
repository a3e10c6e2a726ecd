import PostriderNotifications

@testable import PostriderWebPush

/// The rules about requests, by the document that makes them.
enum WebPushTable {
    struct Group: Sendable {
        let title: String
        let cases: [WebPushCase]
    }

    static let groups = [delivery, encryption, identification]

    private static let delivery = Group(
        title: "RFC 8030: delivery",
        cases: [
            WebPushCase("D1", "a good request is accepted"),
            WebPushCase("D2", "`TTL` is required (section 5.2)", [("TTL", nil)], .missingTTL),
            WebPushCase("D3", "`TTL` of 0 is one attempt", [("TTL", ["0"])]),
            WebPushCase("D4", "`TTL` is in digits", [("TTL", ["1.5"])], .invalidTTL),
            WebPushCase("D5", "`TTL` is not negative", [("TTL", ["-1"])], .invalidTTL),
            WebPushCase("D6", "`TTL` is not empty", [("TTL", [""])], .invalidTTL),
            WebPushCase("D7", "`TTL` occurs once", [("TTL", ["60", "61"])], .invalidTTL),
            WebPushCase("D8", "a long `TTL` is cut to 30 days", [("TTL", ["99999999999999999999"])]),
            WebPushCase("D9", "`Urgency` may be `very-low`", [("Urgency", ["very-low"])]),
            WebPushCase("D10", "`Urgency` may be `high`", [("Urgency", ["high"])]),
            WebPushCase(
                "D11", "`Urgency` has four values (section 5.3)", [("Urgency", ["urgent"])], .invalidUrgency),
            WebPushCase("D12", "`Urgency` occurs once", [("Urgency", ["low", "high"])], .invalidUrgency),
            WebPushCase(
                "D13", "`Topic` has up to 32 characters (section 5.4)",
                [("Topic", ["0123456789-abcdefghijkl_NOPQRSTU"])]),
            WebPushCase(
                "D14", "`Topic` has no more than 32 characters",
                [("Topic", ["0123456789-abcdefghijkl_NOPQRSTUV"])], .invalidTopic),
            WebPushCase("D15", "`Topic` is base64url", [("Topic", ["a.b"])], .invalidTopic),
            WebPushCase("D16", "`Topic` is not empty", [("Topic", [""])], .invalidTopic),
            WebPushCase("D17", "`Topic` occurs once", [("Topic", ["a", "b"])], .invalidTopic),
            WebPushCase(
                "D18", "`Prefer: respond-async` asks for a receipt (section 5.1)",
                [("Prefer", ["respond-async"])]),
            WebPushCase("D19", "other preferences are ignored", [("Prefer", ["wait=5, return=minimal"])]),
            WebPushCase("D20", "4096 bytes are taken (section 7.2)", body: 4096),
            WebPushCase("D21", "4097 bytes are refused", body: 4097, .messageTooLarge),
            WebPushCase("D22", "a message may be empty, and needs no encoding then", body: 0),
        ])

    private static let salt = ("Encryption", ["salt=lngarbyKfMoi9Z75xYXmkg"] as [String]?)
    private static let share = (
        "Crypto-Key",
        ["keyid=p256dh;dh=BNoRDbb84JGm8g5Z5CFxurSqsXWJ11ItfXEWYVLE85Y7CYkDjXsIEc4a"] as [String]?
    )
    private static let older = ("Content-Encoding", ["aesgcm"] as [String]?)

    private static let encryption = Group(
        title: "RFC 8291 and its drafts: encryption",
        cases: [
            WebPushCase(
                "E1", "`Content-Encoding` is required", [("Content-Encoding", nil)], .unknownEncoding),
            WebPushCase(
                "E2", "`Content-Encoding` is one that devices know", [("Content-Encoding", ["gzip"])],
                .unknownEncoding),
            WebPushCase(
                "E3", "`Content-Encoding` is one encoding", [("Content-Encoding", ["aes128gcm", "gzip"])],
                .unknownEncoding),
            WebPushCase("E4", "`aesgcm` is taken with its two headers", [older, salt, share]),
            WebPushCase("E5", "`aesgcm` needs `Encryption`", [older, share], .missingEncryptionKeys),
            WebPushCase("E6", "`aesgcm` needs `Crypto-Key`", [older, salt], .missingEncryptionKeys),
            WebPushCase(
                "E7", "`Encryption` has a `salt`", [older, ("Encryption", ["rs=4096"]), share],
                .invalidEncryptionKeys),
            WebPushCase(
                "E8", "`Crypto-Key` has a `dh`", [older, salt, ("Crypto-Key", ["p256ecdsa=BNoRDbb8"])],
                .invalidEncryptionKeys),
            WebPushCase(
                "E9", "`dh` is base64", [older, salt, ("Crypto-Key", ["dh=?"])], .invalidEncryptionKeys),
        ])

    private static let identification = Group(
        title: "RFC 8292: VAPID",
        cases: [
            WebPushCase("V1", "a valid token is accepted", by: .valid, isRestricted: true),
            WebPushCase(
                "V2", "a restricted subscription demands a token (section 4.2)", by: .none,
                isRestricted: true,
                .unauthorized),
            WebPushCase(
                "V3", "a restricted subscription demands its own key", by: .otherKey, isRestricted: true,
                .forbidden(.wrongKey)),
            WebPushCase("V4", "the form of the drafts is accepted", by: .legacy, isRestricted: true),
            WebPushCase(
                "V5", "the signature is of the key in `k`", by: .otherSignature, isRestricted: true,
                .forbidden(.wrongSignature)),
            WebPushCase(
                "V6", "`exp` is in the future", by: .expired, isRestricted: true, .forbidden(.expired)),
            WebPushCase(
                "V7", "`exp` is within 24 hours (section 2)", by: .tooLong, isRestricted: true,
                .forbidden(.tooLong)),
            WebPushCase(
                "V8", "`aud` is the address's origin", by: .otherAudience, isRestricted: true,
                .forbidden(.wrongAudience)),
            WebPushCase("V9", "`aud` may be several origins", by: .manyAudiences, isRestricted: true),
            WebPushCase(
                "V10", "`exp` is required", by: .noExpiry, isRestricted: true, .forbidden(.malformed)),
            WebPushCase("V11", "`k` is required", by: .noKey, isRestricted: true, .forbidden(.malformed)),
            WebPushCase(
                "V12", "the algorithm is ES256", by: .hmac, isRestricted: true, .forbidden(.malformed)),
            WebPushCase("V13", "another scheme is refused", by: .basic, isRestricted: true, .unauthorized),
            WebPushCase("V14", "a subscription without a key takes a token of any key", by: .otherKey),
            WebPushCase(
                "V15", "a token must be valid even if none is needed", by: .expired, .forbidden(.expired)),
        ])
}
