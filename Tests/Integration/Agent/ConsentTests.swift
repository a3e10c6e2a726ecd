import PostriderCourier
import PostriderNotifications
import Testing

@testable import PostriderAgent

/// A desktop that records the prompts that it is asked to show.
private final class RecordedScreen: PromptScreen {
    var user: UInt32? = 1000
    var capabilities: Set<String> = ["actions", "body-markup"]
    private(set) var shown: [DesktopNotification] = []
    private(set) var closed: [UInt32] = []
    /// Answers the latest prompt with the number of a notification.
    var answer: ((UInt32?) -> Void)?

    func show(
        _ notification: DesktopNotification, replacing number: UInt32, _ shown: @escaping (UInt32?) -> Void
    ) {
        self.shown.append(notification)
        answer = shown
    }

    func close(_ number: UInt32) { closed.append(number) }
}

@Suite("Whether an app may notify")
struct ConsentTests {
    private let topic = CenterFixture.topic

    private func status(_ fixture: CenterFixture) -> CenterAnswer.Content? { fixture.ask(.settings).last }

    @Test(
        "can be said before it has run, and holds when it comes", .bug(id: "A15"),
        arguments: [AuthorizationStatus.authorized, .denied])
    func inAdvance(_ status: AuthorizationStatus) throws {
        let fixture = try RouterFixture()
        #expect(try fixture.authorizations.decide(status, about: topic))
        try fixture.kill()
        let app = RecordedApp()
        fixture.registrations.attach(topic, for: app.stream)
        #expect(app.told.last == .authorization(Authorization(topic: topic, status: status)))
        #expect(fixture.files.state.consents.decided.isEmpty)
        // A later decision counts, and a forgotten one has no effect.
        #expect(try fixture.authorizations.decide(.denied, about: topic))
        try fixture.kill()
        let next = RecordedApp()
        fixture.registrations.attach(topic, for: next.stream)
        #expect(fixture.files.state.apps[topic].map { fixture.authorizations.status(of: $0) } == .denied)
    }

    @Test("can be said before it has run of some of what it will ask for", .bug(id: "A15"))
    func someInAdvance() throws {
        let fixture = try RouterFixture()
        #expect(try fixture.authorizations.decide(.authorized, about: topic, granting: [.alert, .badge]))
        try fixture.kill()
        let (one, two) = (RecordedApp(), RecordedApp())
        fixture.registrations.attach(topic, for: one.stream)
        func options(_ topic: String) -> NotificationOptions? {
            fixture.files.state.apps[topic].flatMap { fixture.files.state.centers[$0.number]?.options }
        }
        #expect(options(topic) == [.alert, .badge])
        // A manifest can decide too, unless the owner has decided.
        var manifest = AppManifest.sample("com.example.two")
        manifest.notifications = .authorized
        manifest.notificationOptions = .badge
        _ = fixture.declare([manifest])
        fixture.registrations.attach("com.example.two", for: two.stream)
        #expect(options("com.example.two") == .badge)
        #expect(try fixture.authorizations.decide(.authorized, about: "com.example.two"))
        #expect(options("com.example.two") == .unnamed)
        withExtendedLifetime((one, two)) {}
    }

    @Test("is said in advance also of an app that only registers: its alerts are shown", .bug(id: "A15"))
    func registration() throws {
        let fixture = try RouterFixture()
        #expect(try fixture.authorizations.decide(.authorized, about: topic))
        let presenter = fixture.presenter
        fixture.router.left(fixture.attached().stream)
        fixture.deliveries.delivered(.sample(1, identity: 1, payload: #"{"aps":{"alert":"b"}}"#))
        fixture.router.endTurn()
        #expect(presenter.alerts.count == 1)
        // The owner's decision about an app that has never asked counts too.
        let other = RecordedApp()
        fixture.registrations.register("com.example.two", for: other.stream)
        #expect(try fixture.authorizations.decide(.authorized, about: "com.example.two"))
        #expect(
            fixture.files.state.apps["com.example.two"].map { fixture.authorizations.status(of: $0) }
                == .authorized)
    }

    @Test("follows from its manifest until the owner says something else", .bug(id: "A15"))
    func manifest() throws {
        var manifest = AppManifest.sample()
        manifest.notifications = .authorized
        let fixture = try RouterFixture(manifests: [manifest])
        func known() -> AuthorizationStatus? {
            fixture.files.state.apps[topic].map { fixture.authorizations.status(of: $0) }
        }
        fixture.router.left(fixture.attached().stream)
        #expect(known() == .authorized)
        #expect(try fixture.authorizations.decide(.denied, about: topic))
        fixture.router.left(fixture.attached().stream)
        fixture.authorizations.applyDecisions()
        #expect(known() == .denied)
        // An app whose manifest comes later.
        let two = RecordedApp()
        fixture.registrations.register("com.example.two", for: two.stream)
        var other = AppManifest.sample("com.example.two")
        other.notifications = .denied
        _ = fixture.declare([manifest, other])
        fixture.authorizations.applyDecisions()
        #expect(
            fixture.files.state.apps["com.example.two"].map { fixture.authorizations.status(of: $0) }
                == .denied)
    }

    /// A prompt for an app's request.
    private final class Question {
        let fixture: CenterFixture
        let screen = RecordedScreen()
        private(set) var router: ConsentRequests

        init() throws {
            fixture = try CenterFixture(status: .notDetermined)
            router = Self.router(fixture, screen)
        }

        private static func router(_ fixture: CenterFixture, _ screen: RecordedScreen) -> ConsentRequests {
            ConsentRequests(
                fixture.fixture.files.state.consents, authorizations: fixture.authorizations, screen: screen,
                trouble: fixture.fixture.trouble, log: .none, name: { _ in "<b>Tea</b>" })
        }

        /// Sends the app's request, and returns the answers so far.
        func ask() -> [CenterAnswer.Content] {
            let answers = fixture.ask(.requestAuthorization(options: 7))
            if answers.isEmpty { router.ask(about: CenterFixture.topic, of: 1000) }
            return answers
        }

        /// The statuses that the app got, in order.
        var statuses: [AuthorizationStatus] {
            fixture.app.told.compactMap { message in
                guard case .answer(let answer) = message, case .authorization(let status) = answer.content
                else {
                    return nil
                }
                return status
            }
        }

        func restart() throws {
            try fixture.restart()
            router = Self.router(fixture, screen)
        }
    }

    @Test(
        "is still asked when the app is granted quiet alerts, which stay if the user closes the question",
        .bug(id: "K5"))
    func quietMeanwhile() throws {
        let question = try Question()
        #expect(question.ask().isEmpty)
        _ = question.router.heard(.came(server: "one"))
        question.screen.answer?(7)
        let quiet: NotificationOptions = [.alert, .provisional]
        #expect(
            question.fixture.ask(.requestAuthorization(options: quiet.rawValue)) == [
                .authorization(.provisional)
            ]
        )
        #expect(question.fixture.fixture.files.state.consents[topic].place?.number == 7)
        #expect(question.router.heard(.closed(number: 7, reason: 2)))
        #expect(question.statuses == [.provisional, .provisional])
    }

    @Test(
        "is asked of the user of the desktop, whose answer holds for good", .bug(id: "A15"),
        arguments: [("allow", AuthorizationStatus.authorized), ("deny", .denied)])
    func prompt(_ key: String, _ status: AuthorizationStatus) throws {
        let question = try Question()
        #expect(question.ask().isEmpty && question.screen.shown.isEmpty)
        #expect(!question.router.heard(.came(server: "one")))
        let shown = try #require(question.screen.shown.last)
        #expect(shown.actions == ["allow", "Allow", "deny", "Deny"] && shown.timeout == 0)
        #expect(shown.body.contains(topic) && shown.summary.contains("<b>Tea</b>"))
        question.screen.answer?(7)
        // The answer to somebody else's notification, and another request of the app.
        #expect(!question.router.heard(.chosen(number: 8, key: "allow")))
        #expect(question.ask().isEmpty && question.screen.shown.count == 1)
        #expect(question.router.heard(.chosen(number: 7, key: key)))
        question.router.withdraw(topic)
        #expect(question.statuses == [status, status] && question.screen.closed == [7])
        #expect(!question.router.heard(.closed(number: 7, reason: 3)))
        try question.restart()
        #expect(question.ask() == [.authorization(status)])
    }

    @Test("is asked again when the question was closed without an answer, so many times", .bug(id: "A15"))
    func unanswered() throws {
        let question = try Question()
        _ = question.router.heard(.came(server: "one"))
        for count in 1...Limits.promptsPerTopic {
            #expect(question.ask().isEmpty && question.screen.shown.count == count)
            question.screen.answer?(UInt32(count))
            #expect(question.router.heard(.closed(number: UInt32(count), reason: 2)))
            #expect(status(question.fixture) == .authorization(.notDetermined))
            let told = question.fixture.app.told.filter {
                if case .answer(let answer) = $0 { answer.call == UInt64(2 * count - 1) } else { false }
            }
            #expect(told.count == 1)
        }
        // From then on the app gets an answer at once, and does not wait forever.
        let answered = question.statuses.count
        #expect(question.ask().isEmpty && question.screen.shown.count == Limits.promptsPerTopic)
        #expect(question.statuses.count == answered + 1 && question.statuses.last == .notDetermined)
        try question.restart()
        _ = question.router.heard(.came(server: "one"))
        _ = question.ask()
        #expect(question.screen.shown.count == Limits.promptsPerTopic)
        #expect(question.statuses == [.notDetermined])
        // A decision by another way is reported to the app, too.
        #expect(try question.fixture.authorizations.decide(.authorized, about: topic))
        #expect(question.ask() == [.authorization(.authorized)])
    }

    @Test("is asked of nobody but the app's own user, who can answer", .bug(id: "A15"))
    func users() throws {
        let question = try Question()
        question.screen.user = 1001
        _ = question.router.heard(.came(server: "one"))
        #expect(question.ask().isEmpty && question.screen.shown.isEmpty)
        question.screen.user = nil
        #expect(question.ask().isEmpty && question.screen.shown.isEmpty)
        question.screen.user = 1000
        question.screen.capabilities = ["body"]
        #expect(question.ask().isEmpty && question.screen.shown.isEmpty)
        question.screen.capabilities.insert("actions")
        #expect(question.ask().isEmpty && question.screen.shown.count == 1)
    }

    @Test("can be answered after the agent's end, and is shown again by another server", .bug(id: "A15"))
    func restart() throws {
        let question = try Question()
        _ = question.router.heard(.came(server: "one"))
        _ = question.ask()
        question.screen.answer?(7)
        _ = question.router.heard(.went)
        _ = question.router.heard(.came(server: "two"))
        #expect(question.screen.shown.count == 2)
        question.screen.answer?(9)
        try question.restart()
        _ = question.router.heard(.came(server: "two"))
        #expect(question.screen.shown.count == 2)
        #expect(question.router.heard(.chosen(number: 9, key: "allow")))
        #expect(status(question.fixture) == .authorization(.authorized))
    }
}
