import PostriderCrypto
import PostriderNotifications
import RelayFixtures
import Testing

@testable import PostriderProviderAPI

/// Keys of every scope, and their tokens.
private struct Keys {
    static let key = ES256.PrivateKey.generate()
    static let records: [ProviderKeyRecord] = [
        record("TEAM-A"), record("TEAM-B"), record("OTHER", team: "TEAM000002"),
        record("PRODUCTION", .production), record("DEVELOPMENT", .development),
        record("TOPIC-A", .production, [Samples.topic], related: "TOPIC-B"),
        record("TOPIC-B", .production, [Samples.named("com.example.app.voip")]),
        record("TOPIC-C", .production, [Samples.topic]),
        record("REVOKED").revoked(at: Samples.now), record("FAR", team: "TEAM000002", .development),
    ]
    static let authority = Provider.authority(generation: 1, records: records)

    static func record(
        _ identifier: String, team: String = "TEAM000001",
        _ environment: PostriderNotifications.Environment? = nil,
        _ topics: [Topic]? = nil, related: String? = nil, endsAt: Moment? = nil
    ) -> ProviderKeyRecord {
        ProviderKeyRecord(
            identifier: identifier, team: team, publicKey: key.publicKey.pem, addedAt: Samples.now,
            environment: environment, topics: topics, relatedKey: related, endsAt: endsAt)
    }

    /// Makes a header with a token of this key. Another time or number gives another text.
    static func bearer(_ identifier: String, _ number: Int = 0, issuedAt minutes: Int64 = 0) -> String {
        let team = records.first { $0.identifier == identifier }?.team ?? "TEAM000001"
        let iat = Samples.now.milliseconds / 1000 + minutes * 60
        return "bearer "
            + Provider.shared.token(
                header: #"{"alg":"ES256","kid":"\#(identifier)"}"#,
                claims: #"{"iss":"\#(team)","iat":\#(iat),"n":\#(number)}"#, signedBy: key)
    }

    static func after(minutes: Int64, seconds: Int64 = 0) -> Moment {
        Samples.now.advanced(byMilliseconds: (minutes * 60 + seconds) * 1000)
    }
}

@Suite("The credentials of a connection")
struct ProviderCredentialsTests {
    @Test(
        "bind it to the first team, and to keys that belong to the first key (3.2)",
        arguments: [
            // Two keys of one team: the second token is an update of the first, and comes too early.
            ("TEAM-A", "TEAM-B", .tooManyProviderTokenUpdates), ("TEAM-A", "OTHER", .invalidProviderToken),
            ("TEAM-A", "TOPIC-A", .unrelatedKeyIdentifierInToken),
            ("TOPIC-A", "TEAM-A", .unrelatedKeyIdentifierInToken),
            ("TOPIC-A", "TOPIC-C", .unrelatedKeyIdentifierInToken), ("TOPIC-A", "TOPIC-B", nil),
            ("TOPIC-B", "TOPIC-A", nil), ("TOPIC-A", "OTHER", .invalidProviderToken),
            ("TOPIC-A", "PRODUCTION", .unrelatedKeyIdentifierInToken),
            ("PRODUCTION", "DEVELOPMENT", .badEnvironmentKeyIdentifierInToken),
        ] as [(String, String, Rejection?)]
    )
    func binding(_ first: String, _ second: String, _ expected: Rejection?) {
        let line = AuthenticatedConnection(Keys.authority)
        let token = Keys.bearer(first)
        #expect(line.push(token) == nil)
        #expect(line.push(Keys.bearer(second)) == expected)
        #expect(line.push(token) == nil, "what was refused changes nothing")
    }

    @Test(
        "must be of the listener's environment; a legacy key is of both (3.2)",
        arguments: [
            ("PRODUCTION", .production, nil), ("DEVELOPMENT", .development, nil),
            ("TEAM-A", .production, nil),
            ("TEAM-A", .development, nil), ("PRODUCTION", .development, .badEnvironmentKeyIdentifierInToken),
            ("DEVELOPMENT", .production, .badEnvironmentKeyIdentifierInToken),
        ] as [(String, PostriderNotifications.Environment, Rejection?)]
    )
    func environment(_ key: String, _ environment: PostriderNotifications.Environment, _ expected: Rejection?)
    {
        #expect(AuthenticatedConnection(Keys.authority, in: environment).push(Keys.bearer(key)) == expected)
    }

    @Test("of a revoked key are forbidden; of a removed one they are invalid (3.2)")
    func revoked() {
        #expect(AuthenticatedConnection(Keys.authority).push(Keys.bearer("REVOKED")) == .forbidden)
        let line = AuthenticatedConnection(Keys.authority)
        let token = Keys.bearer("TEAM-A")
        #expect(line.push(token) == nil)
        line.authority = Provider.authority(
            generation: 2, records: Keys.records.map { $0.revoked(at: Samples.now) })
        #expect(line.push(token) == .forbidden)
        line.authority = Provider.authority(generation: 3, records: [])
        #expect(line.push(token) == .invalidProviderToken)
        line.authority = Provider.authority(generation: 4, records: Keys.records)
        #expect(line.push(token) == nil)
    }

    @Test("are checked in the contract's order when several things are wrong (4.4)")
    func order() {
        let line = AuthenticatedConnection(Keys.authority)
        #expect(line.push(Keys.bearer("TEAM-A")) == nil)
        let old: Int64 = -120
        // Each token has the faults of all lines after it as well, where that is possible.
        #expect(line.push(nil) == .missingProviderToken)
        #expect(line.push(Keys.bearer("UNKNOWN", issuedAt: old)) == .invalidProviderToken)
        #expect(line.push(Keys.bearer("REVOKED", issuedAt: old)) == .forbidden)
        #expect(line.push(Keys.bearer("FAR", issuedAt: old)) == .invalidProviderToken)
        #expect(line.push(Keys.bearer("DEVELOPMENT", issuedAt: old)) == .badEnvironmentKeyIdentifierInToken)
        #expect(line.push(Keys.bearer("TOPIC-A", issuedAt: old)) == .unrelatedKeyIdentifierInToken)
        #expect(line.push(Keys.bearer("TEAM-B", issuedAt: old)) == .expiredProviderToken)
        #expect(line.push(Keys.bearer("TEAM-B")) == .tooManyProviderTokenUpdates)
    }

    @Test("bind with the first that is accepted, not with one that is refused (3.2)")
    func firstAccepted() {
        let line = AuthenticatedConnection(Keys.authority)
        #expect(line.push(Keys.bearer("OTHER", issuedAt: -61)) == .expiredProviderToken)
        #expect(line.push(Keys.bearer("TOPIC-A", issuedAt: 61)) == .expiredProviderToken)
        #expect(line.push(Keys.bearer("TEAM-A")) == nil)
        #expect(line.push(Keys.bearer("OTHER")) == .invalidProviderToken)
    }

    @Test(
        "may change every 20 minutes, less a minute of slack (3.2)",
        arguments: [
            (0, 0, .tooManyProviderTokenUpdates), (18, 59, .tooManyProviderTokenUpdates), (19, 0, nil),
            (20, 0, nil), (59, 0, nil), (-1, 0, nil),
        ] as [(Int64, Int64, Rejection?)]
    )
    func updates(_ minutes: Int64, _ seconds: Int64, _ expected: Rejection?) {
        let line = AuthenticatedConnection(Keys.authority)
        #expect(line.push(Keys.bearer("TEAM-A")) == nil)
        let other = Keys.bearer("TEAM-A", 1)
        #expect(line.push(other, at: Keys.after(minutes: minutes, seconds: seconds)) == expected)
    }

    @Test("may change again only so long after the change before, and to nobody's older token (3.2)")
    func laterUpdates() {
        let line = AuthenticatedConnection(Keys.authority)
        let tokens = (0...2).map { Keys.bearer("TEAM-A", $0) }
        #expect(line.push(tokens[0]) == nil)
        #expect(line.push(tokens[1], at: Keys.after(minutes: 19)) == nil)
        // An unchanged token is never an update, and does not postpone the next one.
        for minute in 19...37 { #expect(line.push(tokens[1], at: Keys.after(minutes: Int64(minute))) == nil) }
        #expect(line.push(tokens[0], at: Keys.after(minutes: 37)) == .tooManyProviderTokenUpdates)
        #expect(line.push(tokens[2], at: Keys.after(minutes: 37)) == .tooManyProviderTokenUpdates)
        #expect(line.push(tokens[2], at: Keys.after(minutes: 38)) == nil)
        #expect(AuthenticatedConnection(Keys.authority).push(tokens[0], at: Keys.after(minutes: 38)) == nil)
    }

    @Test("are the same token in whatever way its header is written")
    func writing() {
        let line = AuthenticatedConnection(Keys.authority)
        let bearer = Keys.bearer("TEAM-A")
        #expect(line.push(bearer) == nil)
        #expect(line.push(bearer.replacing("bearer ", with: "BEARER  ")) == nil)
        #expect(line.push(bearer + " ") == nil)
        line.authority = Provider.authority(generation: 2, records: Keys.records)
        #expect(line.push(bearer) == nil)
        #expect(line.push(Keys.bearer("TEAM-A", 1)) == .tooManyProviderTokenUpdates)
    }

    @Test("of a related key are no update, and each of the two keys has its own limit (3.2)")
    func related() {
        let line = AuthenticatedConnection(Keys.authority)
        let (a, b) = (Keys.bearer("TOPIC-A"), Keys.bearer("TOPIC-B"))
        #expect(line.push(a) == nil)
        #expect(line.push(b, at: Keys.after(minutes: 10)) == nil)
        #expect(line.push(a, at: Keys.after(minutes: 10)) == nil)
        #expect(line.push(b, at: Keys.after(minutes: 10)) == nil)
        #expect(
            line.push(Keys.bearer("TOPIC-B", 1), at: Keys.after(minutes: 20)) == .tooManyProviderTokenUpdates)
        #expect(line.push(Keys.bearer("TOPIC-A", 1), at: Keys.after(minutes: 20)) == nil)
        #expect(line.push(Keys.bearer("TOPIC-B", 1), at: Keys.after(minutes: 29)) == nil)
        #expect(
            line.push(Keys.bearer("TOPIC-C"), at: Keys.after(minutes: 60)) == .unrelatedKeyIdentifierInToken)
    }

    @Test("that have expired are replaced at any time, on the same connection (3.2)")
    func expired() {
        let line = AuthenticatedConnection(Keys.authority)
        let old = Keys.bearer("TEAM-A", issuedAt: -55)
        #expect(line.push(old) == nil)
        #expect(line.push(old, at: Keys.after(minutes: 5)) == nil)
        #expect(line.push(Keys.bearer("TEAM-A"), at: Keys.after(minutes: 5)) == .tooManyProviderTokenUpdates)
        #expect(line.push(old, at: Keys.after(minutes: 6)) == .expiredProviderToken)
        #expect(line.push(Keys.bearer("TEAM-A"), at: Keys.after(minutes: 6)) == nil)
        #expect(line.push(old, at: Keys.after(minutes: 6)) == .expiredProviderToken)
        let next = Keys.bearer("TEAM-A", 1)
        #expect(line.push(next, at: Keys.after(minutes: 7)) == .tooManyProviderTokenUpdates)
    }

    /// The operator's possible changes of a key.
    private static let changes:
        [(name: String, change: @Sendable (ProviderKeyRecord) -> ProviderKeyRecord?)] = [
            ("revoke it", { $0.revoked(at: Samples.now) }), ("remove it", { _ in nil }),
            ("make another of it", { _ in Keys.record("TEAM-A", .production) }),
            (
                "give it a new public key",
                { key in
                    ProviderKeyRecord(
                        identifier: key.identifier, team: key.team,
                        publicKey: ES256.PrivateKey.generate().publicKey.pem, addedAt: key.addedAt)
                }
            ),
        ]

    @Test("whose key ends are refused from its end on, and may then be replaced at any time")
    func ended() {
        let line = AuthenticatedConnection(
            Provider.authority(
                generation: 1,
                records: [Keys.record("TEAM-A", endsAt: Keys.after(minutes: 5)), Keys.record("TEAM-B")]))
        let token = Keys.bearer("TEAM-A")
        #expect(line.push(token) == nil)
        #expect(line.push(token, at: Keys.after(minutes: 4, seconds: 59)) == nil)
        #expect(line.push(token, at: Keys.after(minutes: 5)) == .forbidden)
        #expect(line.push(Keys.bearer("TEAM-A", 1), at: Keys.after(minutes: 5)) == .forbidden)
        #expect(line.push(Keys.bearer("TEAM-B"), at: Keys.after(minutes: 5)) == nil)
    }

    @Test("whose key was revoked, removed or changed are replaced at any time", arguments: 0..<4)
    func withdrawn(_ index: Int) {
        let line = AuthenticatedConnection(Keys.authority)
        #expect(line.push(Keys.bearer("TEAM-A")) == nil)
        let others = Keys.records.filter { $0.identifier != "TEAM-A" }
        let key = Keys.records.first { $0.identifier == "TEAM-A" }
        line.authority = Provider.authority(
            generation: 2, records: others + [key.flatMap(Self.changes[index].change)].compactMap(\.self))
        #expect(line.push(Keys.bearer("TEAM-B")) == nil, "\(Self.changes[index].name)")
    }

    @Test(
        "permit what their key is good for (2.2, 3.2)",
        arguments: [
            ("TEAM-A", "com.example.app", true), ("TEAM-A", "com.example.app.voip", true),
            ("TEAM-A", "com.example.other", false), ("TEAM-A", "com.example.unknown", false),
            ("TOPIC-A", "com.example.app", true), ("TOPIC-A", "com.example.app.voip", false),
            ("TOPIC-B", "com.example.app.voip", true), ("OTHER", "com.example.other", true),
        ])
    func topics(_ key: String, _ topic: String, _ isAllowed: Bool) throws {
        let line = AuthenticatedConnection(Keys.authority)
        #expect(line.push(Keys.bearer(key)) == nil)
        let permission = try #require(line.permission)
        #expect(permission.allows(Samples.named(topic), .alert, by: Keys.authority) == isAllowed)
        #expect(permission.defaultTopic == nil)
    }

    @Test("are told with a push: TopicDisallowed outside of a topic-specific key (3.2)")
    func admission() throws {
        let fields = Provider.shared.fields([
            "authorization": Keys.bearer("TOPIC-A"), "apns-topic": "com.example.app.voip",
        ])
        guard case .failure(.topicDisallowed) = try Provider.shared.admit(fields, authority: Keys.authority)
        else {
            Issue.record("the push was not refused for its topic")
            return
        }
    }
}
