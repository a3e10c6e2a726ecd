import PostriderHTTP2
import PostriderNotifications
import RelayFixtures
import Testing

@testable import PostriderProviderAPI

@Suite("A provider's certificate")
struct CertificateScopeTests {
    private func certificate(
        _ userIdentifier: String? = "com.example.app", topics: [String] = [], voip: [String] = [],
        development: Bool = true, production: Bool = true, isMalformed: Bool = false, isVerified: Bool = true
    ) -> ProviderCertificate {
        var extensions = PushExtensions()
        extensions.topics = topics
        extensions.voipTopics = voip
        extensions.isForDevelopment = development
        extensions.isForProduction = production
        return ProviderCertificate(
            userIdentifier: userIdentifier, extensions: isMalformed ? nil : extensions,
            isVerified: isVerified)
    }

    @Test("is refused when it is not to be believed, or names no topic (3.3)")
    func bad() {
        let many = (0...Limits.certificateTopics).map { "com.example.app\($0)" }
        for bad in [
            certificate(isVerified: false), certificate(isMalformed: true), certificate(nil),
            certificate("com/example"), certificate(topics: ["com.example.app", "a b"]),
            certificate(topics: many),
            certificate(production: false, isVerified: false),
        ] {
            let line = AuthenticatedConnection()
            #expect(line.show(bad) == .badCertificate)
            #expect(line.push("bearer " + Provider.goodToken) == nil, "nothing of it is kept")
        }
        #expect(AuthenticatedConnection().show(nil) == nil)
        #expect(AuthenticatedConnection().show(certificate(topics: many.dropLast(2))) == nil)
    }

    @Test(
        "is for the environments that it names, or for both where it names none (3.3)",
        arguments: [
            (true, true, [.development, .production]), (true, false, [.development]),
            (false, true, [.production]), (false, false, [.development, .production]),
        ] as [(Bool, Bool, Set<PostriderNotifications.Environment>)]
    )
    func environments(
        _ development: Bool, _ production: Bool, _ good: Set<PostriderNotifications.Environment>
    ) {
        for environment in PostriderNotifications.Environment.allCases {
            let shown = certificate(development: development, production: production)
            let expected: Rejection? = good.contains(environment) ? nil : .badCertificateEnvironment
            #expect(AuthenticatedConnection(in: environment).show(shown) == expected)
        }
    }

    @Test("makes authorization void, for as long as the connection lives (3.3, Mixing)")
    func authorization() {
        let line = AuthenticatedConnection()
        #expect(line.show(certificate()) == nil)
        for authorization in [nil, "", "basic x", "bearer a.b.c", "bearer " + Provider.goodToken] {
            #expect(line.push(authorization) == nil)
        }
    }

    /// Returns the result of a push on a connection with a certificate.
    private func verdict(_ shown: ProviderCertificate, _ topic: String?, _ pushType: String? = "alert") throws
        -> Result<Topic, Rejection>
    {
        let fields = Provider.shared.fields([
            "authorization": nil, "apns-topic": topic, "apns-push-type": pushType,
        ])
        return try Provider.shared.admit(fields, certificate: shown).map(\.topic)
    }

    @Test(
        "covers its UID and what its extensions list, and never location (2.3, 3.3)",
        arguments: [
            ([], [], "com.example.app", "alert", nil),
            ([], [], "com.example.app.voip", "voip", .topicDisallowed),
            ([], ["com.example.app.voip"], "com.example.app.voip", "voip", nil),
            (["com.example.app.voip"], [], "com.example.app.voip", "voip", nil),
            (["com.example.app.voip"], [], "com.example.app", "alert", nil),
            ([], [], "com.example.other", "alert", .topicDisallowed),
            (["com.example.unknown"], [], "com.example.unknown", "alert", .topicDisallowed),
            ([], [], "com.example.app", "location", .topicDisallowed),
        ] as [([String], [String], String, String, Rejection?)]
    )
    func coverage(
        _ topics: [String], _ voip: [String], _ topic: String, _ pushType: String, _ expected: Rejection?
    ) throws {
        let verdict = try verdict(certificate(topics: topics, voip: voip), topic, pushType)
        switch (verdict, expected) {
        case (.success(let admitted), nil): #expect(admitted.text == topic)
        case (.failure(let rejection), let expected): #expect(rejection == expected)
        default: Issue.record("\(verdict)")
        }
    }

    @Test("has a default topic, its UID, where that is the only one (2.2)")
    func defaultTopic() throws {
        #expect(try verdict(certificate(), nil) == .success(Samples.topic))
        #expect(try verdict(certificate(), "") == .success(Samples.topic))
        #expect(try verdict(certificate(topics: ["com.example.app"]), nil) == .success(Samples.topic))
        let several = certificate(topics: ["com.example.app", "com.example.app.voip"])
        #expect(try verdict(several, nil) == .failure(.missingTopic))
        #expect(try verdict(certificate(nil, topics: ["com.example.app"]), nil) == .failure(.missingTopic))
        #expect(
            try verdict(certificate(nil, topics: ["com.example.app"]), "com.example.app")
                == .success(Samples.topic))
    }

    @Test("covers the channels of its topics; those of others are TopicMismatch (6.1)")
    func channels() throws {
        for (app, expected) in [
            ("com.example.app", nil), (Samples.otherTopic.text, .topicMismatch),
        ] as [(String, Rejection?)] {
            var block = HeaderBlock()
            block.add(":method", "GET")
            block.add(":path", "/1/apps/\(app)/all-channels")
            let request = PushRequest()
            request.begin(&block) { NotificationIdentity(high: 3, low: 4) }
            let admission = ChannelRequestValidator(
                authority: Provider.shared.authority, tokens: ProviderTokens(), environment: .production,
                isStrict: false, now: Samples.now)
            var credentials = ProviderCredentials()
            try credentials.adopt(certificate(), in: .production)
            var rejection: Rejection?
            do throws(Rejection) { _ = try admission.admit(request, &credentials) } catch {
                rejection = error
            }
            #expect(rejection == expected)
        }
    }
}
