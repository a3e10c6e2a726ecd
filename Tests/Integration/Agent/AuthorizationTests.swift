import PostriderCourier
import PostriderNotifications
import Testing

@testable import PostriderAgent

@Suite("The owner of the device")
struct AuthorizationTests {
    private let topic = CenterRig.topic

    @Test("is waited for by an app that asks, and decides for good")
    func waiting() throws {
        let rig = try CenterRig(status: .notDetermined)
        #expect(rig.app.told == [.authorization(Authorization(topic: topic, status: .notDetermined))])
        #expect(rig.ask(.requestAuthorization(options: 7)).isEmpty)
        #expect(rig.ask(.settings) == [.authorization(.notDetermined)])
        #expect(try rig.center.decide(.authorized, about: topic))
        #expect(
            rig.app.told.suffix(2) == [
                .authorization(Authorization(topic: topic, status: .authorized)),
                .answer(CenterAnswer(call: 1, content: .authorization(.authorized))),
            ])
        try rig.restart()
        #expect(rig.ask(.requestAuthorization(options: 7)) == [.authorization(.authorized)])
    }

    @Test(
        "may have answered all apps beforehand", arguments: [AuthorizationStatus.denied, .authorized])
    func answerToAll(_ status: AuthorizationStatus) throws {
        let rig = try CenterRig(status: .notDetermined)
        rig.center.answerToAll = status
        #expect(rig.ask(.settings) == [.authorization(.notDetermined)])
        #expect(rig.ask(.requestAuthorization(options: 4)) == [.authorization(status)])
        #expect(rig.ask(.settings) == [.authorization(status)])
    }

    @Test(
        "keeps an app that is not allowed from scheduling",
        arguments: [AuthorizationStatus.denied, .notDetermined])
    func forbidden(_ status: AuthorizationStatus) throws {
        let rig = try CenterRig(status: status)
        guard case .refused(_, isForbidden: true) = rig.add("a", nil) else {
            Issue.record("it was taken")
            return
        }
        #expect(rig.fired.isEmpty)
    }

    @Test("silences what is pending by a change of mind, until the next")
    func changeOfMind() throws {
        let rig = try CenterRig()
        let start = rig.now
        _ = rig.add("once", .interval(milliseconds: 60_000, repeats: false))
        _ = rig.add("again", .interval(milliseconds: 60_000, repeats: true))
        _ = try rig.center.decide(.denied, about: topic)
        rig.pass(until: start.after(70))
        #expect(rig.fired.isEmpty && rig.list(.pending) == ["again"])
        #expect(rig.list(.missed).isEmpty)
        _ = try rig.center.decide(.authorized, about: topic)
        rig.pass(until: start.after(130))
        #expect(rig.fired == ["again"])
    }

    @Test("is not asked by somebody else's process, which learns nothing either")
    func strangers() throws {
        let rig = try CenterRig()
        _ = rig.add("a", .interval(milliseconds: 1000, repeats: false))
        let stranger = RecordedApp(user: 2000)
        for order in [CenterOrder.list(.pending), .removePending(.all), .settings] {
            guard case .refused(_, isForbidden: false) = rig.ask(order, by: stranger).last else {
                Issue.record("\(order) was answered")
                return
            }
        }
        rig.center.attach(topic, for: stranger.stream)
        rig.pass(until: rig.now.after(2))
        #expect(rig.fired == ["a"] && !stranger.told.contains { if case .fired = $0 { true } else { false } })
    }

    @Test("has no word in what the relay brings, and an app that gives its token up keeps its notifications")
    func registration() throws {
        let rig = try CenterRig()
        _ = rig.add("a", .interval(milliseconds: 1000, repeats: false))
        rig.rig.desk.register(topic, for: rig.app.stream)
        #expect(rig.rig.line.asked == ["register \(topic)"])
        rig.rig.arrive(1)
        rig.endTurn()
        #expect(rig.app.identities == [1])
        rig.rig.desk.unregister(topic, for: rig.app.stream)
        rig.rig.desk.unregistered(topic)
        rig.endTurn()
        rig.pass(until: rig.now.after(2))
        #expect(rig.fired == ["a"])
        try rig.restart()
        #expect(rig.app.identities.isEmpty && rig.fired == ["a"] && rig.list(.delivered) == ["a"])
    }

    @Test("is not bothered by an app that has only its own notifications: the relay never hears of it")
    func localOnly() throws {
        let rig = try CenterRig()
        rig.rig.desk.welcomed([])
        #expect(rig.rig.line.asked.isEmpty)
        #expect(rig.add("a", nil) == .done && rig.fired == ["a"])
        #expect(rig.rig.ground.state.apps.wanted.isEmpty)
    }
}
