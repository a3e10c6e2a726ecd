import Foundation
import PostriderCourier
import PostriderNotifications
import PostriderSchedules

@testable import PostriderAgent

/// A router whose time the test moves, with an app that may notify.
final class CenterFixture {
    static let topic = RecordedApp.topic

    let fixture: RouterFixture
    private(set) var app = RecordedApp()
    private var lastCall: UInt64 = 0
    private var lastAlarm = AlarmSetting(moment: nil)

    init(status: AuthorizationStatus = .authorized) throws {
        fixture = try RouterFixture()
        fixture.zone = "Europe/Berlin"
        attend()
        guard status != .notDetermined else { return }
        _ = try fixture.authorizations.decide(status, about: Self.topic)
    }

    var center: LocalNotifications { fixture.center }
    var authorizations: Authorizations { fixture.authorizations }
    /// What the agent's alarm clock is set to.
    var alarm: AlarmSetting {
        if let setting = center.takeAlarm() { lastAlarm = setting }
        return lastAlarm
    }
    var now: Moment {
        get { Moment(milliseconds: fixture.clock.wallMilliseconds) }
        set { fixture.clock.wallMilliseconds = newValue.milliseconds }
    }

    /// Prepares the router as an agent does at its start, and attaches an app.
    private func attend() {
        center.start()
        app = RecordedApp()
        fixture.registrations.attach(Self.topic, for: app.stream)
        endTurn()
    }

    func endTurn() { fixture.router.endTurn() }

    /// Kills the agent and starts it at this time, with the app.
    /// - Parameter reading: what the device's clocks show at the start; nil: unknown.
    func restart(at moment: Moment? = nil, reading: ClockReading? = nil) throws {
        try fixture.kill()
        fixture.reading = reading
        if let moment { now = moment }
        attend()
    }

    /// Advances the time to `end`, and fires the alarm whenever it is due.
    func pass(until end: Moment) {
        while let moment = alarm.moment, moment <= end {
            now = max(now, moment)
            center.alarmRang()
            endTurn()
        }
        now = end
    }

    /// Sets the clock and reports that, as the kernel does.
    func setClock(to moment: Moment) {
        let shift = moment.milliseconds - now.milliseconds
        now = moment
        center.clockChanged(byMilliseconds: shift)
        endTurn()
    }

    /// Changes the time zone of the device.
    func move(to zone: String) {
        fixture.zone = zone
        center.clockChanged(byMilliseconds: 0)
    }

    /// Sends a request of the app and returns the answer.
    func ask(_ order: CenterOrder, of topic: String = topic, by app: RecordedApp? = nil)
        -> [CenterAnswer.Content]
    {
        lastCall += 1
        let (call, app) = (lastCall, app ?? self.app)
        center.take(CenterCall(call: call, topic: topic, order: order), from: app.stream)
        endTurn()
        return app.told.compactMap { message in
            if case .answer(let answer) = message, answer.call == call { answer.content } else { nil }
        }
    }

    func add(_ identifier: String, _ trigger: Trigger?, title: String = "") -> CenterAnswer.Content? {
        ask(.add(.sample(identifier, trigger, title: title))).last
    }

    /// Identifier and title of each notification in a list.
    func list(_ kind: NoticeKind) -> [String] {
        ask(.list(kind)).compactMap { content in
            guard case .item(let notice) = content else { return nil }
            return notice.request.identifier + notice.request.content.title
        }
    }

    /// Identifier and title of each local notification that was delivered to the attached app.
    var fired: [String] { firings.map { $0.notice.request.identifier + $0.notice.request.content.title } }

    var firings: [Fired] {
        app.told.compactMap { if case .fired(let fired) = $0 { fired } else { nil } }
    }
}

extension LocalRequest {
    static func sample(_ identifier: String, _ trigger: Trigger?, title: String = "") -> LocalRequest {
        var content = LocalContent()
        content.title = title
        return LocalRequest(identifier: identifier, content: content, trigger: trigger)
    }
}

extension Moment {
    /// Returns the time this many seconds later.
    func after(_ seconds: Int64) -> Moment { advanced(byMilliseconds: seconds * 1000) }

    /// Returns the time of an ISO 8601 text in UTC; the epoch if the text is invalid.
    static func utc(_ text: String) -> Moment {
        let date = (try? Date(text, strategy: .iso8601)) ?? Date(timeIntervalSince1970: 0)
        return Moment(milliseconds: Int64(date.timeIntervalSince1970 * 1000))
    }
}
