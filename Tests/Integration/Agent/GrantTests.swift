import PostriderCourier
import PostriderDBus
import PostriderNotifications
import Testing

@testable import PostriderAgent

@Suite("What an app is granted, one by one")
struct GrantTests {
    private static let topic = CenterRig.topic
    private static let payload =
        #"{"aps":{"alert":{"title":"T"},"badge":4,"sound":"ping","interruption-level":"critical"}}"#

    private func presenter(_ rig: CenterRig) -> Presenter {
        let presenter = Presenter(
            rig.rig.ground.state, desk: rig.rig.desk, manifests: [], line: nil, scheduler: rig.rig.clock,
            log: .none)
        rig.rig.desk.presenter = presenter
        presenter.start()
        return presenter
    }

    private func settings(_ rig: CenterRig) -> CenterSettings? {
        guard case .settings(let settings) = rig.ask(.settings(detailed: true)).last else { return nil }
        return settings
    }

    private func ask(_ rig: CenterRig, _ options: NotificationOptions) -> CenterAnswer.Content? {
        rig.ask(.requestAuthorization(options: options.rawValue)).last
    }

    private func push(_ rig: CenterRig, _ identity: UInt64, _ payload: String = payload) {
        rig.rig.desk.delivered(.sample(identity, identity: identity, payload: payload))
        rig.endTurn()
    }

    @Test(
        "is no alert for an app that asked for badges only: neither of a push nor of its own", .bug(id: "K5"))
    func badgeOnly() throws {
        let rig = try CenterRig()
        let presenter = presenter(rig)
        rig.rig.desk.register(Self.topic, for: rig.app.stream)
        #expect(ask(rig, .badge) == .authorization(.authorized))
        push(rig, 1)
        #expect(rig.add("own", nil, title: "Own") == .done)
        #expect(presenter.alerts.isEmpty && rig.list(.delivered).isEmpty)
        // The app gets both notifications nevertheless, and its badge is set.
        #expect(rig.app.identities == [1] && rig.fired == ["ownOwn"])
        #expect(settings(rig)?.badge == 4 && settings(rig)?.granted == .badge)
        _ = ask(rig, .alert)
        push(rig, 2)
        #expect(presenter.alerts.map(\.content.title) == ["T"] && rig.list(.delivered).count == 1)
    }

    @Test("is a sound, a badge and a critical alert only where it is asked for and granted", .bug(id: "K5"))
    func oneByOne() throws {
        let rig = try CenterRig()
        _ = presenter(rig)
        func alert() throws -> Alert {
            let parcel = Parcel.remote(.sample(1, identity: 1, payload: Self.payload))
            let center = try #require(rig.rig.ground.state.centers[1])
            return try #require(Alert(parcel, of: 1)).allowed(by: center)
        }
        #expect(try alert().permitted == .all && alert().level == .critical)
        _ = ask(rig, .alert)
        #expect(try alert().permitted == [.banner, .list] && alert().level == .timeSensitive)
        _ = ask(rig, [.sound, .criticalAlert])
        #expect(try alert().permitted == [.banner, .list, .sound] && alert().level == .critical)
        #expect(try rig.center.decide(.authorized, about: Self.topic, granting: [.alert, .badge]))
        #expect(try alert().permitted == [.banner, .list])
        #expect(settings(rig)?.asked == [.alert, .sound, .criticalAlert])
        #expect(settings(rig)?.granted == .alert)
        try rig.restart()
        #expect(settings(rig)?.granted == .alert)
    }

    @Test("is everything for an app that has named nothing, as earlier agents had it", .bug(id: "K5"))
    func unnamed() throws {
        let rig = try CenterRig()
        #expect(settings(rig)?.granted == .unnamed)
        _ = ask(rig, [])
        #expect(settings(rig)?.granted == .unnamed)
    }

    @Test("is quiet alerts for an app that asks provisionally, until the owner decides", .bug(id: "K5"))
    func provisional() throws {
        let rig = try CenterRig(status: .notDetermined)
        let presenter = presenter(rig)
        rig.rig.desk.register(Self.topic, for: rig.app.stream)
        #expect(ask(rig, [.alert, .sound, .badge, .provisional]) == .authorization(.provisional))
        push(rig, 1)
        let alert = try #require(presenter.alerts.first)
        #expect(alert.level == .passive && alert.permitted == [.banner, .list])
        #expect(rig.add("own", nil) == .done)
        // An app that asks for interrupting alerts waits for the owner.
        #expect(ask(rig, [.alert]) == nil)
        #expect(try rig.center.decide(.authorized, about: Self.topic))
        #expect(settings(rig)?.granted == [.alert, .sound, .badge])
        #expect(try rig.center.decide(.denied, about: Self.topic))
        #expect(presenter.alerts.isEmpty && settings(rig)?.granted == [])
    }

    @Test("keeps the number on an app's icon, until the app or its owner takes it away", .bug(id: "K5"))
    func badge() throws {
        let rig = try CenterRig()
        _ = presenter(rig)
        #expect(rig.ask(.setBadge(7)).last == .done)
        try rig.restart()
        #expect(settings(rig)?.badge == 7)
        _ = ask(rig, .alert)
        guard case .refused(_, isForbidden: true) = rig.ask(.setBadge(8)).last else {
            Issue.record("a badge that was not asked for was set")
            return
        }
        _ = ask(rig, .badge)
        #expect(rig.ask(.setBadge(9)).last == .done && settings(rig)?.badge == 9)
        _ = try rig.center.decide(.denied, about: Self.topic)
        #expect(settings(rig)?.badge == 0)
    }

    @Test("refuses a moment that has passed, and an interval of nothing", .bug(id: "K5"))
    func past() throws {
        let rig = try CenterRig()
        let passed: [Trigger] = [
            .at(rig.now.after(-1)), .interval(milliseconds: 0, repeats: false),
            .calendar(CalendarMoment(year: 2020, month: 1, day: 1), repeats: false),
        ]
        for trigger in passed {
            guard case .refused(_, isForbidden: false) = rig.add("past", trigger) else {
                Issue.record("\(trigger) was taken")
                continue
            }
        }
        rig.pass(until: rig.now.after(1000))
        #expect(rig.fired.isEmpty && rig.list(.pending).isEmpty && rig.list(.missed).isEmpty)
    }

    @Test("says how much a local notification may disturb, and whom it belongs to", .bug(id: "K5"))
    func levels() throws {
        var content = LocalContent()
        content.title = "T"
        content.thread = "thread-1"
        content.sound = "ping"
        for (level, urgency) in [(InterruptionLevel.passive, UInt8(0)), (.timeSensitive, 1), (.critical, 2)] {
            content.level = level
            let request = LocalRequest(identifier: "a", content: content, trigger: nil)
            let notice = LocalNotice(request: request, at: Moment(milliseconds: 1))
            let fired = Fired(
                delivery: 0, identity: NotificationIdentity(high: 1, low: 2), topic: Self.topic,
                notice: notice, firedAt: Moment(milliseconds: 1))
            let shown = DesktopNotification(
                try #require(Alert(.fired(fired), of: 1)), .all, category: nil, manifest: nil,
                capabilities: ["body", "sound"])
            func hint(_ name: String) -> Bool { shown.hints.contains { $0.name == name } }
            #expect(shown.hints.contains { $0 == ("urgency", .byte(urgency)) })
            #expect(shown.hints.contains { $0 == ("x-postrider-thread", .string("thread-1")) })
            #expect(hint("suppress-sound") == (level == .passive))
        }
    }
}
