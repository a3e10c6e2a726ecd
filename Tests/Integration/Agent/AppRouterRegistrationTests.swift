import PostriderCourier
import PostriderNotifications
import Testing

@testable import PostriderAgent

@Suite("Registrations at the router")
struct AppRouterRegistrationTests {
    private let fixture: RouterFixture
    private let topic = RecordedApp.topic

    init() throws { fixture = try RouterFixture() }

    private func attached(user: UInt32 = 1000) -> RecordedApp { fixture.attached(user: user) }

    @Test("let the first user that asks have a topic, also after a kill, and refuse others with a sentence")
    func users() throws {
        _ = attached(user: 1000)
        try fixture.kill()
        let stranger = attached(user: 1001)
        fixture.arrive(1)
        fixture.registrations.unregister(topic, for: stranger.stream)
        fixture.router.endTurn()
        guard case .refused(let refused) = stranger.told.first else {
            Issue.record("a stranger was told \(stranger.told)")
            return
        }
        #expect(refused.topic == topic && refused.reason.contains("another user"))
        #expect(stranger.delivered.isEmpty)
        #expect(attached(user: 1000).identities == [1])
    }

    @Test("gives a declared topic to the user of its declaration only, whoever had it before")
    func declared() throws {
        let fixture = try RouterFixture(declarations: ["com.example.kiosk": 2000])
        let kiosk = try #require(Topic("com.example.kiosk"))
        _ = try fixture.files.state.apps.add(kiosk, user: 1000)
        let (former, rightful) = (RecordedApp(user: 1000), RecordedApp(user: 2000))
        fixture.registrations.register(kiosk.text, for: former.stream)
        fixture.registrations.register(kiosk.text, for: rightful.stream)
        fixture.arrive(1, topic: kiosk.text)
        fixture.router.endTurn()
        #expect(former.delivered.isEmpty && rightful.identities == [1])
    }

    @Test("refuses what is no topic, and more apps than a device may have")
    func bounds() {
        let app = RecordedApp()
        fixture.registrations.register("not a topic", for: app.stream)
        for number in 0...Limits.registrationsPerDevice {
            fixture.registrations.register("com.example.\(number)", for: app.stream)
        }
        let refusals = app.told.compactMap {
            if case .refused(let refused) = $0 { refused.topic } else { nil }
        }
        #expect(refusals == ["not a topic", "com.example.\(Limits.registrationsPerDevice)"])
    }

    @Test("drops what came in the turn in which its app gave the topic up, or was forgotten")
    func lateArrival() throws {
        let app = attached()
        fixture.arrive(1)
        fixture.registrations.unregister(topic, for: app.stream)
        fixture.router.endTurn()
        let second = attached()
        #expect(fixture.link.acknowledged == [1] && second.identities.isEmpty)
        fixture.arrive(2)
        #expect(try fixture.registrations.forgetApp(topic))
        fixture.router.endTurn()
        let third = attached()
        #expect(fixture.link.acknowledged == [1, 2] && third.identities.isEmpty)
    }

    @Test("tells an app its token as soon as there is one, at each registration, and when it changes")
    func tokens() throws {
        let app = attached()
        #expect(fixture.link.asked == ["register \(topic)"])
        fixture.registrations.registered(Registered(topic: topic, deviceToken: .sample(1)))
        fixture.registrations.welcomed([Registered(topic: topic, deviceToken: .sample(1))])
        fixture.registrations.welcomed([Registered(topic: topic, deviceToken: .sample(2))])
        fixture.registrations.register(topic, for: app.stream)
        let tokens = app.told.compactMap {
            if case .registered(let told) = $0 { told.deviceToken } else { nil }
        }
        #expect(tokens == [.sample(1), .sample(2), .sample(2)])
        try fixture.kill()
        #expect(attached().told == [.registered(Registered(topic: topic, deviceToken: .sample(2)))])
    }

    @Test("keeps the environment of an app, and asks for a new token when the app changes over")
    func environments() throws {
        let app = attached()
        fixture.registrations.registered(Registered(topic: topic, deviceToken: .sample(1)))
        fixture.registrations.register(topic, in: .development, for: app.stream)
        #expect(fixture.files.state.apps.wanted == [topic: .development])
        // The relay does not know about the change yet.
        fixture.registrations.welcomed([Registered(topic: topic, deviceToken: .sample(1))])
        let development = Registered(topic: topic, deviceToken: .sample(2), environment: .development)
        fixture.registrations.registered(development)
        #expect(fixture.link.asked == ["register \(topic)", "register \(topic) in development"])
        #expect(
            app.told == [
                .registered(Registered(topic: topic, deviceToken: .sample(1))), .registered(development),
            ])
        try fixture.kill()
        #expect(fixture.files.state.apps.wanted == [topic: .development])
        let again = RecordedApp()
        fixture.registrations.register(topic, in: .development, for: again.stream)
        #expect(again.told == [.registered(development)])
    }

    @Test("hands over what had arrived before an app changed its environment")
    func arrivedBefore() throws {
        let app = attached()
        fixture.arrive(1)
        fixture.registrations.register(topic, in: .development, for: app.stream)
        fixture.router.endTurn()
        #expect(app.identities == [1])
    }

    @Test("tells an app that the relay refuses it, or has ended its registration")
    func refusals() {
        let app = attached()
        fixture.registrations.refused(Refused(topic: topic, reason: "no"))
        fixture.registrations.registered(Registered(topic: topic, deviceToken: .sample(1)))
        fixture.registrations.unregistered(topic)
        #expect(
            app.told == [
                .refused(Refused(topic: topic, reason: "no")),
                .registered(Registered(topic: topic, deviceToken: .sample(1))),
                .unregistered(topic: topic),
            ])
    }

    @Test("forgets an app that has unregistered when the relay knows, and drops what comes meanwhile")
    func unregistration() throws {
        let app = attached()
        fixture.arrive(1)
        fixture.registrations.unregister(topic, for: app.stream)
        fixture.arrive(2)
        fixture.router.endTurn()
        #expect(fixture.link.asked.last == "unregister \(topic)" && fixture.link.acknowledged == [1, 2])
        #expect(app.told == [.unregistered(topic: topic)])
        try fixture.kill()
        #expect(fixture.files.state.apps.unwanted == [topic])
        fixture.registrations.welcomed([])
        #expect(fixture.files.state.apps.records.isEmpty)
        #expect(attached(user: 1001).told.isEmpty)
    }

    @Test(
        "knows the answer to its own unregistration from the operator's, when the app has come back meanwhile"
    )
    func returning() {
        let app = attached()
        fixture.registrations.unregister(topic, for: app.stream)
        fixture.registrations.register(topic, for: app.stream)
        fixture.registrations.unregistered(topic)
        fixture.registrations.registered(Registered(topic: topic, deviceToken: .sample(2)))
        #expect(
            app.told == [
                .unregistered(topic: topic), .registered(Registered(topic: topic, deviceToken: .sample(2))),
            ])
    }
}
