import PostriderNotifications

extension ContractTable {
    static let channelProviders = ContractGroup(
        title: "Channels and broadcasts: authentication",
        introduction: """
            The rules are those of pushes: whatever a connection carries first binds it. Only the reason \
            differs for an app that the token or the certificate is not for.
            """,
        cases: channelTokens + channelKeys,
        events: [
            ContractEvent(
                "channel-certificate", "A certificate is for the apps that are its topics.",
                "a request about another app", "403 `TopicMismatch`", reason: "TopicMismatch",
                shownBy: "Unit/ProviderAPI/CertificateScopeTests.swift", "covers the channels of its topics"),
            ContractEvent(
                "channel-shutdown", "The relay is stopping.", "a request while it drains", "503 `Shutdown`",
                reason: "Shutdown", shownBy: "Unit/Relay/ProviderSessionTests.swift",
                "answers a request about channels in a drain"),
            ContractEvent(
                "channel-congestion", "The relay is overloaded.",
                "a request while the ledger's mailbox, or that of the app's home, is full",
                "429 `TooManyRequests`", reason: "TooManyRequests",
                shownBy: "Unit/Relay/ProviderBoundTests.swift",
                "while the ledger is behind, pushes and requests about channels are to come again"),
            ContractEvent(
                "channel-lists",
                "A connection must read the lists that it asked for before it asks for more.",
                "a list while 16 are under way", "429 `TooManyRequests`", reason: "TooManyRequests",
                shownBy: "Unit/Relay/ProviderBoundTests.swift",
                "and not for who asks for it again and again"),
        ],
        isBinding: true)

    private static let made = ContractAnswer.answered(201, "", ["apns-channel-id": "*"])

    private static let channelTokens = [
        ContractCase(
            "channel-auth-missing", "A request needs a token or a certificate.", as: .create,
            ["authorization": nil], gets: .refused(403, "MissingProviderToken")),
        ContractCase(
            "broadcast-auth-missing", "A request needs a token or a certificate.",
            as: .broadcast, ["authorization": nil], gets: .refused(403, "MissingProviderToken")),
        ContractCase(
            "channel-auth-basic", "The scheme must be `bearer`.", as: .list, ["authorization": "basic {jwt}"],
            gets: .refused(403, "MissingProviderToken")),
        ContractCase(
            "channel-auth-first", "Authentication is checked before identifier, app and channel.", as: .read,
            ["authorization": nil, "apns-request-id": "no-uuid", "apns-channel-id": nil],
            path: "/1/apps/com.example.foreign/channels", gets: .refused(403, "MissingProviderToken")),
        ContractCase(
            "channel-jwt-der", "Tokens are read as with pushes.", as: .create,
            ["authorization": "bearer {jwt with a DER signature}"], gets: made),
        ContractCase(
            "channel-jwt-text", "A token has three parts in base64.", as: .create,
            ["authorization": "bearer {no jwt}"], gets: .refused(403, "InvalidProviderToken")),
        ContractCase(
            "broadcast-jwt-unknown-key", "The relay must know the key.", as: .broadcast,
            ["authorization": "bearer {jwt of an unknown key}"],
            gets: .refused(403, "InvalidProviderToken")),
        ContractCase(
            "channel-jwt-61-minutes", "A token is valid for an hour.", as: .delete,
            ["authorization": "bearer {jwt of 61 minutes ago}"],
            gets: .refused(403, "ExpiredProviderToken")),
        ContractCase(
            "broadcast-jwt-61-minutes", "A token is valid for an hour.", as: .broadcast,
            ["authorization": "bearer {jwt of 61 minutes ago}"],
            gets: .refused(403, "ExpiredProviderToken")),
        ContractCase(
            "channel-token-changed", "A connection keeps its provider token for 20 minutes.", as: .create,
            ["authorization": "bearer {second jwt}"], before: [ContractRequest(.create)],
            gets: .refused(429, "TooManyProviderTokenUpdates")),
        ContractCase(
            "broadcast-after-push", "Pushes and broadcasts share a connection, and the token that binds it.",
            as: .broadcast, ["authorization": "bearer {second jwt}"], before: [.push()],
            gets: .refused(429, "TooManyProviderTokenUpdates")),
    ]

    private static let channelKeys = [
        ContractCase(
            "channel-key-revoked", "A revoked key is known and refused.", as: .list,
            ["authorization": "bearer {revoked key's jwt}"], gets: .refused(403, "Forbidden")),
        ContractCase(
            "channel-key-of-other-environment", "A key is used in the other environment.", as: .create,
            ["authorization": "bearer {development key's jwt}"],
            gets: .refused(403, "BadEnvironmentKeyIdInToken")),
        ContractCase(
            "channel-key-of-other-environment-live", "Apple's service itself spells this reason so.",
            as: .create,
            ["authorization": "bearer {development key's jwt}"], with: .liveSpellings,
            gets: .refused(403, "BadEnvironmentKeyInToken")),
        ContractCase(
            "channel-key-development", "The same key is used in its environment.", as: .create,
            ["authorization": "bearer {development key's jwt}"], in: .development, gets: made),
        ContractCase(
            "channel-key-topic", "A topic-specific key is used for one of its apps.", as: .create,
            ["authorization": "bearer {topic key's jwt}"], gets: made),
        ContractCase(
            "channel-key-other-topic", "A topic-specific key is used for another app of its team.", as: .list,
            ["authorization": "bearer {topic key's jwt}"], path: "/1/apps/com.example.second/all-channels",
            gets: .refused(403, "TopicMismatch")),
        ContractCase(
            "broadcast-key-other-topic", "A topic-specific key is used for another app of its team.",
            as: .broadcast, ["authorization": "bearer {topic key's jwt}"],
            path: "/4/broadcasts/apps/com.example.second", gets: .refused(403, "TopicMismatch")),
        ContractCase(
            "channel-topic-key-then-team-key", "A team-scoped key follows a topic-specific one.",
            as: .create,
            before: [ContractRequest(.create, changes: [("authorization", "bearer {topic key's jwt}")])],
            gets: .refused(403, "UnrelatedKeyIdInToken")),
        ContractCase(
            "channel-second-team", "A connection is used by a second team.", as: .list,
            ["authorization": "bearer {another team's jwt}"],
            path: "/1/apps/com.example.foreign/all-channels",
            before: [ContractRequest(.create)], gets: .refused(403, "InvalidProviderToken")),
        ContractCase(
            "channel-other-team", "The other team uses a connection of its own.", as: .list,
            ["authorization": "bearer {another team's jwt}"],
            path: "/1/apps/com.example.foreign/all-channels",
            gets: .answered(200, #"{"channels":[]}"#)),
    ]
}
