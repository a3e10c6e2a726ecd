import PostriderNotifications

extension ContractTable {
    static let keys = ContractGroup(
        title: "Keys, and what a connection is bound to",
        introduction: """
            The first accepted push binds its connection to a team. A legacy key may be used for all \
            topics of its team in both environments; other keys are for one environment, and \
            topic-specific ones for certain topics.
            """,
        cases: scopes + bindings,
        isBinding: true)

    private static func bearer(_ words: String) -> String { "bearer {\(words)}" }

    private static let scopes = [
        ContractCase(
            "key-production", "A key is used in its environment.",
            ["authorization": bearer("production key's jwt")],
            gets: .accepted),
        ContractCase(
            "key-of-other-environment", "A key is used in the other environment.",
            ["authorization": bearer("development key's jwt")],
            gets: .refused(403, "BadEnvironmentKeyIdInToken")),
        ContractCase(
            "key-of-other-environment-live", "Apple's service itself spells this reason so.",
            ["authorization": bearer("development key's jwt")], with: .liveSpellings,
            gets: .refused(403, "BadEnvironmentKeyInToken")),
        ContractCase(
            "key-development", "The same key is used in its environment.",
            ["authorization": bearer("development key's jwt")],
            path: "/3/device/{development token}", in: .development, gets: .accepted),
        ContractCase(
            "key-revoked", "A revoked key is known and refused.",
            ["authorization": bearer("revoked key's jwt")],
            gets: .refused(403, "Forbidden")),
        ContractCase(
            "key-topic", "A topic-specific key is used for one of its topics.",
            ["authorization": bearer("topic key's jwt")], gets: .accepted),
        ContractCase(
            "key-other-topic", "A topic-specific key is used for another topic of its team.",
            ["authorization": bearer("topic key's jwt"), "apns-topic": "com.example.second"],
            path: "/3/device/{other app's token}", gets: .refused(400, "TopicDisallowed")),
    ]

    private static let bindings = [
        ContractCase(
            "token-changed", "A connection keeps its provider token for 20 minutes.",
            ["authorization": bearer("second jwt")], before: [.push()],
            gets: .refused(429, "TooManyProviderTokenUpdates")),
        ContractCase(
            "token-unchanged", "The same token again is not a change, however the header is written.",
            ["authorization": "BEARER {jwt}"], before: [.push()], gets: .accepted),
        ContractCase(
            "second-team", "A connection is used by a second team.",
            ["authorization": bearer("another team's jwt"), "apns-topic": "com.example.foreign"],
            before: [.push()], gets: .refused(403, "InvalidProviderToken")),
        ContractCase(
            "team-key-then-topic-key", "A topic-specific key follows a team-scoped one.",
            ["authorization": bearer("topic key's jwt")], before: [.push()],
            gets: .refused(403, "UnrelatedKeyIdInToken")),
        ContractCase(
            "topic-key-then-team-key", "A team-scoped key follows a topic-specific one.", [:],
            before: [.push(["authorization": bearer("topic key's jwt")])],
            gets: .refused(403, "UnrelatedKeyIdInToken")),
        ContractCase(
            "topic-key-then-other", "A topic-specific key follows one that it is not related to.",
            ["authorization": bearer("unrelated topic key's jwt")],
            before: [.push(["authorization": bearer("topic key's jwt")])],
            gets: .refused(403, "UnrelatedKeyIdInToken")),
        ContractCase(
            "topic-key-then-related", "A topic-specific key follows the one that it is related to.",
            ["authorization": bearer("related key's jwt"), "apns-topic": "com.example.second"],
            path: "/3/device/{other app's token}",
            before: [.push(["authorization": bearer("topic key's jwt")])], gets: .accepted),
    ]

    static let certificates = ContractGroup(
        title: "Client certificates",
        introduction: """
            A provider may present a certificate instead of a token. Its topics are the UID of the subject \
            and those of the extensions; `authorization` is ignored then.
            """,
        events: [
            ContractEvent(
                "certificate-bad",
                "The certificate is not of a trusted authority, is outside its validity, or has no topic.",
                "the handshake", "GOAWAY with `{\"reason\":\"BadCertificate\"}`", reason: "BadCertificate",
                shownBy: "EndToEnd/Programs/certificates.py", "BadCertificate"
            ),
            ContractEvent(
                "certificate-environment", "The certificate is for the other environment.", "the handshake",
                "GOAWAY with `{\"reason\":\"BadCertificateEnvironment\"}`",
                reason: "BadCertificateEnvironment",
                shownBy: "EndToEnd/Programs/certificates.py", "BadCertificateEnvironment"),
            ContractEvent(
                "certificate-authorization", "With a certificate, `authorization` is ignored.",
                "a push with any token",
                "as without", shownBy: "Unit/ProviderAPI/CertificateScopeTests.swift",
                "makes authorization void"),
            ContractEvent(
                "certificate-default-topic",
                "With a certificate of one topic, `apns-topic` is optional.",
                "a push without topic", "200", shownBy: "Unit/ProviderAPI/CertificateScopeTests.swift",
                "has a default topic, its UID"),
            ContractEvent(
                "certificate-location", "A location push needs a token.",
                "a push for `.location-query`",
                "400 `TopicDisallowed`", shownBy: "Unit/ProviderAPI/CertificateScopeTests.swift",
                "and never location"),
        ])
}
