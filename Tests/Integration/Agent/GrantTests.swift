import PostriderCourier
import PostriderDBus
import PostriderNotifications
import Testing

@testable import PostriderAgent

@Suite("What an app is granted, one by one")
struct GrantTests {
    private static let topic = CenterFixture.topic
    private static let payload =
        #"{"aps":{"alert":{"title":"T"},"badge":4,"sound":"ping","interruption-level":"critical"}}"#

    private func presenter(_ fixture: CenterFixture) -> Presenter {
        fixture.fixture.presenter
    }

    private func settings(_ fixture: CenterFixture) -> CenterSettings? {
        guard case .settings(let settings) = fixture.ask(.settings(detailed: true)).last else { return nil }
        return settings
    }

    private func ask(_ fixture: CenterFixture, _ options: NotificationOptions) -> CenterAnswer.Content? {
        fixture.ask(.requestAuthorization(options: options.rawValue)).last
    }

    private func push(_ fixture: CenterFixture, _ identity: UInt64, _ payload: String = payload) {
        fixture.fixture.deliveries.delivered(.sample(identity, identity: identity, payload: payload))
        fixture.endTurn()
    }

    @Test(
        "is no alert for an app that asked for badges only: neither of a push nor of its own", .bug(id: "K5"))
    func badgeOnly() throws {
        let fixture = try CenterFixture()
        let presenter = presenter(fixture)
        fixture.fixture.registrations.register(Self.topic, for: fixture.app.stream)
        #expect(ask(fixture, .badge) == .authorization(.authorized))
        push(fixture, 1)
        #expect(fixture.add("own", nil, title: "Own") == .done)
        #expect(presenter.alerts.isEmpty && fixture.list(.delivered).isEmpty)
        // The app gets both notifications nevertheless, and its badge is set.
        #expect(fixture.app.identities == [1] && fixture.fired == ["ownOwn"])
        #expect(settings(fixture)?.badge == 4 && settings(fixture)?.granted == .badge)
        _ = ask(fixture, .alert)
        push(fixture, 2)
        #expect(presenter.alerts.map(\.content.title) == ["T"] && fixture.list(.delivered).count == 1)
    }

    @Test("is a sound, a badge and a critical alert only where it is asked for and granted", .bug(id: "K5"))
    func oneByOne() throws {
        let fixture = try CenterFixture()
        _ = presenter(fixture)
        func alert() throws -> Alert {
            let parcel = InboxContent.remote(.sample(1, identity: 1, payload: Self.payload))
            let center = try #require(fixture.fixture.files.state.centers[1])
            return try #require(Alert(parcel, of: 1)).allowed(by: center)
        }
        #expect(try alert().permitted == .all && alert().level == .critical)
        _ = ask(fixture, .alert)
        #expect(try alert().permitted == [.banner, .list] && alert().level == .timeSensitive)
        _ = ask(fixture, [.sound, .criticalAlert])
        #expect(try alert().permitted == [.banner, .list, .sound] && alert().level == .critical)
        #expect(
            try fixture.authorizations.decide(.authorized, about: Self.topic, granting: [.alert, .badge]))
        #expect(try alert().permitted == [.banner, .list])
        #expect(settings(fixture)?.asked == [.alert, .sound, .criticalAlert])
        #expect(settings(fixture)?.granted == .alert)
        try fixture.restart()
        #expect(settings(fixture)?.granted == .alert)
    }

    @Test("is everything for an app that has named nothing, as earlier agents had it", .bug(id: "K5"))
    func unnamed() throws {
        let fixture = try CenterFixture()
        #expect(settings(fixture)?.granted == .unnamed)
        _ = ask(fixture, [])
        #expect(settings(fixture)?.granted == .unnamed)
    }

    @Test("is quiet alerts for an app that asks provisionally, until the owner decides", .bug(id: "K5"))
    func provisional() throws {
        let fixture = try CenterFixture(status: .notDetermined)
        let presenter = presenter(fixture)
        fixture.fixture.registrations.register(Self.topic, for: fixture.app.stream)
        #expect(ask(fixture, [.alert, .sound, .badge, .provisional]) == .authorization(.provisional))
        push(fixture, 1)
        let alert = try #require(presenter.alerts.first)
        #expect(alert.level == .passive && alert.permitted == [.banner, .list])
        #expect(fixture.add("own", nil) == .done)
        // An app that asks for interrupting alerts waits for the owner.
        #expect(ask(fixture, [.alert]) == nil)
        #expect(try fixture.authorizations.decide(.authorized, about: Self.topic))
        #expect(settings(fixture)?.granted == [.alert, .sound, .badge])
        #expect(try fixture.authorizations.decide(.denied, about: Self.topic))
        fixture.endTurn()
        #expect(presenter.alerts.isEmpty && settings(fixture)?.granted == [])
    }

    @Test("keeps the number on an app's icon, until the app or its owner takes it away", .bug(id: "K5"))
    func badge() throws {
        let fixture = try CenterFixture()
        _ = presenter(fixture)
        #expect(fixture.ask(.setBadge(7)).last == .done)
        try fixture.restart()
        #expect(settings(fixture)?.badge == 7)
        _ = ask(fixture, .alert)
        guard case .refused(_, isForbidden: true) = fixture.ask(.setBadge(8)).last else {
            Issue.record("a badge that was not asked for was set")
            return
        }
        _ = ask(fixture, .badge)
        #expect(fixture.ask(.setBadge(9)).last == .done && settings(fixture)?.badge == 9)
        _ = try fixture.authorizations.decide(.denied, about: Self.topic)
        #expect(settings(fixture)?.badge == 0)
    }

    @Test("refuses a moment that has passed, and an interval of nothing", .bug(id: "K5"))
    func past() throws {
        let fixture = try CenterFixture()
        let passed: [Trigger] = [
            .at(fixture.now.after(-1)), .interval(milliseconds: 0, repeats: false),
            .calendar(CalendarMoment(year: 2020, month: 1, day: 1), repeats: false),
        ]
        for trigger in passed {
            guard case .refused(_, isForbidden: false) = fixture.add("past", trigger) else {
                Issue.record("\(trigger) was taken")
                continue
            }
        }
        fixture.pass(until: fixture.now.after(1000))
        #expect(fixture.fired.isEmpty && fixture.list(.pending).isEmpty && fixture.list(.missed).isEmpty)
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
