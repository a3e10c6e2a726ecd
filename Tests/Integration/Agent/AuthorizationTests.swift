import PostriderCourier
import PostriderNotifications
import Testing

@testable import PostriderAgent

@Suite("The owner of the device")
struct AuthorizationTests {
    private let topic = CenterFixture.topic

    @Test("is waited for by an app that asks, and decides for good")
    func waiting() throws {
        let fixture = try CenterFixture(status: .notDetermined)
        #expect(fixture.app.told == [.authorization(Authorization(topic: topic, status: .notDetermined))])
        #expect(fixture.ask(.requestAuthorization(options: 7)).isEmpty)
        #expect(fixture.ask(.settings) == [.authorization(.notDetermined)])
        #expect(try fixture.authorizations.decide(.authorized, about: topic))
        #expect(
            fixture.app.told.suffix(2) == [
                .authorization(Authorization(topic: topic, status: .authorized)),
                .answer(CenterAnswer(call: 1, content: .authorization(.authorized))),
            ])
        try fixture.restart()
        #expect(fixture.ask(.requestAuthorization(options: 7)) == [.authorization(.authorized)])
    }

    @Test(
        "may have answered all apps beforehand", arguments: [AuthorizationStatus.denied, .authorized])
    func answerToAll(_ status: AuthorizationStatus) throws {
        let fixture = try CenterFixture(status: .notDetermined)
        fixture.authorizations.answerToAll = status
        #expect(fixture.ask(.settings) == [.authorization(.notDetermined)])
        #expect(fixture.ask(.requestAuthorization(options: 4)) == [.authorization(status)])
        #expect(fixture.ask(.settings) == [.authorization(status)])
    }

    @Test(
        "keeps an app that is not allowed from scheduling",
        arguments: [AuthorizationStatus.denied, .notDetermined])
    func forbidden(_ status: AuthorizationStatus) throws {
        let fixture = try CenterFixture(status: status)
        guard case .refused(_, isForbidden: true) = fixture.add("a", nil) else {
            Issue.record("it was taken")
            return
        }
        #expect(fixture.fired.isEmpty)
    }

    @Test("silences what is pending by a change of mind, until the next")
    func changeOfMind() throws {
        let fixture = try CenterFixture()
        let start = fixture.now
        _ = fixture.add("once", .interval(milliseconds: 60_000, repeats: false))
        _ = fixture.add("again", .interval(milliseconds: 60_000, repeats: true))
        _ = try fixture.authorizations.decide(.denied, about: topic)
        fixture.pass(until: start.after(70))
        #expect(fixture.fired.isEmpty && fixture.list(.pending) == ["again"])
        #expect(fixture.list(.missed).isEmpty)
        _ = try fixture.authorizations.decide(.authorized, about: topic)
        fixture.pass(until: start.after(130))
        #expect(fixture.fired == ["again"])
    }

    @Test("is not asked by somebody else's process, which learns nothing either")
    func strangers() throws {
        let fixture = try CenterFixture()
        _ = fixture.add("a", .interval(milliseconds: 1000, repeats: false))
        let stranger = RecordedApp(user: 2000)
        for order in [CenterOrder.list(.pending), .removePending(.all), .settings] {
            guard case .refused(_, isForbidden: false) = fixture.ask(order, by: stranger).last else {
                Issue.record("\(order) was answered")
                return
            }
        }
        fixture.fixture.registrations.attach(topic, for: stranger.stream)
        fixture.pass(until: fixture.now.after(2))
        #expect(
            fixture.fired == ["a"] && !stranger.told.contains { if case .fired = $0 { true } else { false } })
    }

    @Test("has no word in what the relay brings, and an app that gives its token up keeps its notifications")
    func registration() throws {
        let fixture = try CenterFixture()
        _ = fixture.add("a", .interval(milliseconds: 1000, repeats: false))
        fixture.fixture.registrations.register(topic, for: fixture.app.stream)
        #expect(fixture.fixture.link.asked == ["register \(topic)"])
        fixture.fixture.arrive(1)
        fixture.endTurn()
        #expect(fixture.app.identities == [1])
        fixture.fixture.registrations.unregister(topic, for: fixture.app.stream)
        fixture.fixture.registrations.unregistered(topic)
        fixture.endTurn()
        fixture.pass(until: fixture.now.after(2))
        #expect(fixture.fired == ["a"])
        try fixture.restart()
        #expect(fixture.app.identities.isEmpty && fixture.fired == ["a"] && fixture.list(.delivered) == ["a"])
    }

    @Test("is not bothered by an app that has only its own notifications: the relay never hears of it")
    func localOnly() throws {
        let fixture = try CenterFixture()
        fixture.fixture.registrations.welcomed([])
        #expect(fixture.fixture.link.asked.isEmpty)
        #expect(fixture.add("a", nil) == .done && fixture.fired == ["a"])
        #expect(fixture.fixture.files.state.apps.wanted.isEmpty)
    }
}
