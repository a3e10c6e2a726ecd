import PostriderNotifications

extension ContractTable {
    static let pushTypes = ContractGroup(
        title: "Push types, topics and priorities",
        introduction: """
            A topic with the suffix of a push type belongs to the app without it: it is neither added by \
            the operator nor registered. Without `apns-push-type` there are no rules. What does not fit \
            together is accepted, as with Apple, and refused if the relay is strict; the reasons are ours \
            then, as Apple names none.
            """,
        cases: types + mismatches)

    private static func type(_ name: String, _ suffix: String) -> ContractCase {
        ContractCase(
            "type-" + name,
            suffix.isEmpty ? "The topic is the app's." : "The topic ends with `" + suffix + "`.",
            ["apns-push-type": name, "apns-topic": ContractFixture.topic + suffix],
            path: suffix.isEmpty ? nil : "/3/device/{token for " + suffix + "}", with: .strict,
            gets: .accepted)
    }

    /// In the order of "Sending notification requests to APNs".
    private static let types = [
        type("alert", ""), type("background", ""), type("voip", ".voip"),
        type("complication", ".complication"), type("fileprovider", ".pushkit.fileprovider"), type("mdm", ""),
        type("location", ".location-query"), type("liveactivity", ".push-type.liveactivity"),
        type("pushtotalk", ".voip-ptt"), type("widgets", ".push-type.widgets"),
        type("controls", ".push-type.controls"),
    ]

    private static let mismatches = [
        ContractCase(
            "type-absent", "The push type is optional.", ["apns-push-type": nil], with: .strict,
            gets: .accepted
        ),
        ContractCase(
            "suffix-without-type", "The push type is optional, whatever the topic.",
            ["apns-topic": "com.example.app.voip"], path: "/3/device/{token for .voip}", with: .strict,
            gets: .accepted),
        ContractCase(
            "suffix-lenient", "A suffix of another push type is accepted.",
            ["apns-push-type": "alert", "apns-topic": "com.example.app.voip"],
            path: "/3/device/{token for .voip}", gets: .accepted),
        ContractCase(
            "suffix-strict", "A strict relay refuses it.",
            ["apns-push-type": "alert", "apns-topic": "com.example.app.voip"],
            path: "/3/device/{token for .voip}", with: .strict, gets: .refused(400, "BadTopic")),
        ContractCase(
            "suffix-missing-strict", "A strict relay refuses a topic without the suffix.",
            ["apns-push-type": "voip"],
            with: .strict, gets: .refused(400, "BadTopic")),
        ContractCase(
            "suffix-missing-lenient", "A missing suffix is accepted.",
            ["apns-push-type": "liveactivity"], gets: .accepted),
        ContractCase(
            "suffix-and-permission", "A strict relay checks the suffix before it checks whose topic it is.",
            ["apns-push-type": "voip", "apns-topic": "com.example.foreign"], with: .strict,
            gets: .refused(400, "BadTopic")),
        ContractCase(
            "background-10-lenient", "A background push with priority 10 is accepted and treated as 5.",
            ["apns-push-type": "background", "apns-priority": "10"], gets: .accepted),
        ContractCase(
            "background-10-strict", "A strict relay refuses it.",
            ["apns-push-type": "background", "apns-priority": "10"], with: .strict,
            gets: .refused(400, "BadPriority")),
        ContractCase(
            "background-5", "A background push has priority 5.",
            ["apns-push-type": "background", "apns-priority": "5"],
            with: .strict, gets: .accepted),
        ContractCase(
            "liveactivity-1-strict", "A Live Activity has priority 5 or 10.",
            [
                "apns-push-type": "liveactivity", "apns-topic": "com.example.app.push-type.liveactivity",
                "apns-priority": "1",
            ], with: .strict, gets: .refused(400, "BadPriority")),
        ContractCase(
            "location-1-strict", "A location query has priority 5 or 10.",
            [
                "apns-push-type": "location", "apns-topic": "com.example.app.location-query",
                "apns-priority": "1",
            ], with: .strict, gets: .refused(400, "BadPriority")),
    ]

    static let payloads = ContractGroup(
        title: "Payload",
        introduction: """
            A payload is one JSON object (RFC 8259) in UTF-8, nested at most 64 deep. The relay checks \
            that and the size, and does not read its members. Apple names no reason for invalid JSON; ours \
            is `PayloadEmpty`. No setting turns that off, because every app relies on an object.
            """,
        cases: [
            ContractCase("payload-empty-object", "`{}` is a payload.", gets: .accepted),
            ContractCase(
                "payload-no-aps", "`aps` is optional.", body: .text(#"{"mdm":"magic"}"#), gets: .accepted),
            ContractCase(
                "payload-aps", "The relay does not read `aps`.",
                body: .text(#"{"aps":{"alert":"Hello","badge":"many"},"key":[1,2]}"#), gets: .accepted),
            ContractCase(
                "payload-4096", "A payload has at most 4096 bytes.", body: .object(bytes: 4096),
                gets: .accepted),
            ContractCase(
                "payload-4097", "A longer payload is refused.", body: .object(bytes: 4097),
                gets: .refused(413, "PayloadTooLarge")),
            ContractCase(
                "payload-liveactivity", "The limit is the same for other types.",
                ["apns-push-type": "liveactivity"],
                body: .object(bytes: 4097), gets: .refused(413, "PayloadTooLarge")),
            ContractCase(
                "payload-voip-5120", "Voice over IP may have 5120 bytes.",
                ["apns-push-type": "voip", "apns-topic": "com.example.app.voip"],
                path: "/3/device/{token for .voip}", body: .object(bytes: 5120), gets: .accepted),
            ContractCase(
                "payload-voip-5121", "A longer payload is refused.",
                ["apns-push-type": "voip", "apns-topic": "com.example.app.voip"],
                path: "/3/device/{token for .voip}", body: .object(bytes: 5121),
                gets: .refused(413, "PayloadTooLarge")),
            ContractCase(
                "payload-voip-by-topic",
                "The topic's suffix alone marks Voice over IP: old libraries send no type.",
                ["apns-topic": "com.example.app.voip"], path: "/3/device/{token for .voip}",
                body: .object(bytes: 5120), gets: .accepted),
            ContractCase(
                "payload-voip-by-type", "The type alone marks it too.", ["apns-push-type": "voip"],
                body: .object(bytes: 5120), gets: .accepted),
            ContractCase(
                "payload-large", "A body of up to 64 KiB is read to its end before it is refused.",
                body: .object(bytes: 65_000), gets: .refused(413, "PayloadTooLarge")),
            ContractCase(
                "payload-none", "A payload is required.", body: .text(""), gets: .refused(400, "PayloadEmpty")
            ),
            ContractCase(
                "payload-space", "White space is not an object.", body: .text(" "),
                gets: .refused(400, "PayloadEmpty")),
            ContractCase(
                "payload-array", "An array is not an object.", body: .text("[]"),
                gets: .refused(400, "PayloadEmpty")),
            ContractCase(
                "payload-broken", "The object must be complete.", body: .text(#"{"aps":"#),
                gets: .refused(400, "PayloadEmpty")),
            ContractCase(
                "payload-two", "There may be one object.", body: .text("{}{}"),
                gets: .refused(400, "PayloadEmpty")),
            ContractCase(
                "payload-latin", "Text must be UTF-8.", body: .invalidText,
                gets: .refused(400, "PayloadEmpty")),
            ContractCase(
                "payload-before-token", "The payload is checked before the device token is looked up.",
                path: "/3/device/{160 digits}", body: .text(""), gets: .refused(400, "PayloadEmpty")),
        ])

    static let deviceTokens = ContractGroup(
        title: "Device tokens",
        introduction: "A device token stands for one app on one device in one environment.",
        cases: [
            ContractCase(
                "token-forged", "A token that this relay did not issue is unknown.",
                path: "/3/device/{forged token}",
                gets: .refused(400, "BadDeviceToken")),
            ContractCase(
                "token-of-development", "A token of the development environment is unknown in production.",
                path: "/3/device/{development token}", gets: .refused(400, "BadDeviceToken")),
            ContractCase(
                "token-of-production", "A token of the production environment is unknown in development.",
                in: .development, gets: .refused(400, "BadDeviceToken")),
            ContractCase(
                "development", "Each environment has its own port.",
                path: "/3/device/{development token}", in: .development,
                gets: .accepted(["apns-unique-id": "*"])),
            ContractCase(
                "token-of-removed-device", "A token of a removed device is unknown.",
                path: "/3/device/{removed device's token}", gets: .refused(400, "BadDeviceToken")),
            ContractCase(
                "token-of-other-app", "A token is valid for its topic only.",
                path: "/3/device/{other app's token}",
                gets: .refused(400, "DeviceTokenNotForTopic")),
            ContractCase(
                "token-of-other-suffix", "A topic with a suffix has its own token.",
                ["apns-topic": "com.example.app.voip"], gets: .refused(400, "DeviceTokenNotForTopic")),
            ContractCase(
                "token-unregistered",
                "The app has unregistered; `timestamp` says when, in milliseconds since 1970.",
                path: "/3/device/{unregistered token}",
                gets: .refused(410, "Unregistered", since: ContractFixture.unregisteredAt)),
            ContractCase(
                "token-expired",
                """
                The device was not seen for this many days, and one more because it is noted once a day. Its \
                tokens are valid again when it returns.
                """, path: "/3/device/{absent device's token}", with: .expiry(days: 30),
                gets: .refused(410, "ExpiredToken", since: ContractFixture.seenAt + 31 * 86_400_000)),
            ContractCase(
                "token-not-expired", "Without the setting tokens do not expire.",
                path: "/3/device/{absent device's token}", gets: .accepted),
            ContractCase(
                "token-order", "A token of another app is reported before an invalid token.",
                ["apns-topic": "com.example.app.voip"], path: "/3/device/{unregistered token}",
                gets: .refused(400, "DeviceTokenNotForTopic")),
        ])

    static let circumstances = ContractGroup(
        title: "What is not the request's fault",
        introduction: "",
        cases: [
            ContractCase(
                "too-many",
                "A device token gets too many pushes: ten seconds' worth at once, then the rate.",
                repeated: true, with: .rate(1),
                gets: .refused(429, "TooManyRequests")
            ),
            ContractCase(
                "disk-full", "The notification cannot be made durable now.",
                with: .failingStore(.full), gets: .refused(503, "ServiceUnavailable")),
            ContractCase(
                "store-damaged",
                "The notification cannot be made durable at all; the operator has to act.",
                with: .failingStore(.conflict), gets: .refused(500, "InternalServerError")),
        ],
        events: [
            ContractEvent(
                "congestion", "The relay is overloaded.",
                "a push while the ledger's mailbox, or that of the device's home, is full",
                "429 `TooManyRequests`", reason: "TooManyRequests",
                shownBy: "Unit/Relay/ProviderBoundTests.swift",
                "while the ledger is behind, pushes and requests about channels are to come again"),
            ContractEvent(
                "idle", "A connection had no push for an hour, or the time that is set.", "nothing",
                "GOAWAY with `{\"reason\":\"IdleTimeout\"}`", reason: "IdleTimeout",
                shownBy: "Unit/Relay/ProviderSessionTests.swift",
                "ends when it was without a push for as long as is set"),
            ContractEvent(
                "unique-identifier", "In development each 200 has an `apns-unique-id`.", "a good push",
                "200, `apns-unique-id` and a UUID", shownBy: "Unit/Relay/ProviderSessionTests.swift",
                "tells a unique identifier with each 200"),
            ContractEvent(
                "stream-limit",
                "With the ramp, a connection with tokens may have one stream until its first good push.",
                "the first push", "SETTINGS with 1000 streams", shownBy: "Unit/Relay/StreamLimitTests.swift",
                "is 1000 right before the first answer"),
            ContractEvent(
                "ping", "PING is answered at any rate.", "PING frames", "as many acknowledgements",
                shownBy: "Unit/Relay/ProviderSessionTests.swift", "answers every PING, at any rate"),
            ContractEvent(
                "host-alone", "`:authority` may be absent if there is a `host`.", "a push of aioapns",
                "200",
                shownBy: "EndToEnd/Programs/meet.py", "aioapns"),
            ContractEvent(
                "shutdown",
                "The relay stops: open pushes are answered, later ones refused, then it ends.",
                "a push while it drains", "503 `Shutdown`, and a GOAWAY with `{\"reason\":\"Shutdown\"}`",
                reason: "Shutdown", shownBy: "EndToEnd/Programs/farewell.py", "GOAWAY says Shutdown"),
        ])
}
