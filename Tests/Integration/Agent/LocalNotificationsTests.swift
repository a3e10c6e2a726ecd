import Foundation
import PostriderCourier
import PostriderNotifications
import PostriderStorage
import Testing

@testable import PostriderAgent

@Suite("A user notification centre at the agent")
struct LocalNotificationsTests {
    private let rig: CenterRig

    init() throws { rig = try CenterRig() }

    private func interval(_ seconds: Int64, repeats: Bool = false) -> Trigger {
        .interval(milliseconds: seconds * 1000, repeats: repeats)
    }

    @Test("hands over a notification when its moment comes, and lists it as delivered")
    func firing() throws {
        let start = rig.now
        #expect(rig.add("a", interval(10)) == .done)
        #expect(rig.alarm.moment == start.after(10))
        rig.pass(until: start.after(9))
        #expect(rig.fired.isEmpty && rig.list(.pending) == ["a"])
        rig.pass(until: start.after(11))
        #expect(rig.fired == ["a"])
        #expect(rig.firings.map(\.notice.at) == [start.after(10)])
        #expect(rig.list(.pending).isEmpty && rig.list(.delivered) == ["a"] && rig.list(.missed).isEmpty)
        #expect(rig.alarm.moment == nil)
    }

    @Test("hands over at once what has no trigger, and takes back what was pending under its name")
    func atOnce() {
        _ = rig.add("a", interval(10), title: "1")
        #expect(rig.add("a", nil, title: "2") == .done)
        #expect(rig.fired == ["a2"] && rig.list(.pending).isEmpty)
    }

    @Test("fires again and again what repeats, each a parcel of its own")
    func repetition() {
        let start = rig.now
        _ = rig.add("a", interval(60, repeats: true))
        rig.pass(until: start.after(200))
        #expect(rig.firings.map(\.notice.at) == [60, 120, 180].map { start.after($0) })
        #expect(Set(rig.firings.map(\.identity)).count == 3)
        #expect(rig.list(.pending) == ["a"] && rig.list(.delivered) == ["a"])
    }

    @Test("replaces what is pending under a name, and takes back what it is told to")
    func replacement() {
        let start = rig.now
        for identifier in ["a", "b", "c", "d"] { _ = rig.add(identifier, interval(10), title: "1") }
        _ = rig.add("a", interval(20), title: "2")
        #expect(rig.list(.pending) == ["b1", "c1", "d1", "a2"])
        #expect(rig.ask(.removePending(.some(["b", "x"]))) == [.done])
        rig.pass(until: start.after(30))
        #expect(rig.fired == ["c1", "d1", "a2"])
        _ = rig.add("e", interval(10))
        #expect(rig.ask(.removePending(.all)) == [.done])
        #expect(rig.alarm.moment == nil && rig.list(.pending).isEmpty)
        #expect(rig.ask(.removeDelivered(.some(["c"]))) == [.done])
        #expect(rig.list(.delivered) == ["d1", "a2"])
        #expect(rig.ask(.removeDelivered(.all)) == [.done])
        #expect(rig.list(.delivered).isEmpty)
    }

    @Test("hands over again what the app has not handled, and nothing that it has, whoever is killed")
    func exactlyOnce() throws {
        let start = rig.now
        for identifier in ["a", "b"] { _ = rig.add(identifier, interval(1)) }
        rig.pass(until: start.after(2))
        let identities = rig.firings.map(\.identity)
        #expect(rig.rig.desk.handled([1], by: rig.app.stream))
        rig.endTurn()
        try rig.restart()
        #expect(rig.firings.map(\.identity) == Array(identities.suffix(1)) && rig.fired == ["b"])
    }

    @Test("keeps its schedule over a restart, and what is due later is not disturbed by what was due")
    func restart() throws {
        let start = rig.now
        _ = rig.add("a", interval(10))
        _ = rig.add("b", interval(100))
        try rig.restart(at: start.after(50))
        #expect(rig.fired == ["a"] && rig.alarm.moment == start.after(100))
        #expect(rig.firings.map(\.firedAt) == [start.after(50)])
        #expect(rig.firings.map(\.notice.at) == [start.after(10)])
        rig.pass(until: start.after(100))
        #expect(rig.fired == ["a", "b"])
    }

    @Test("delivers what was missed for a day at most, of what repeats the newest, and lists the rest")
    func missed() throws {
        let start = Moment.utc("2026-06-01T06:00:00Z")
        rig.now = start
        _ = rig.add("once", .calendar(CalendarMoment(hour: 9), repeats: false))
        _ = rig.add("daily", .calendar(CalendarMoment(hour: 9), repeats: true))
        _ = rig.add("monthly", .calendar(CalendarMoment(day: 2), repeats: true))
        try rig.restart(at: .utc("2026-06-05T08:00:00Z"))
        #expect(rig.fired == ["daily"])
        #expect(rig.firings.map(\.notice.at) == [.utc("2026-06-05T07:00:00Z")])
        #expect(rig.list(.missed) == ["once", "monthly"])
        #expect(rig.list(.pending) == ["daily", "monthly"])
        #expect(rig.alarm.moment == .utc("2026-06-06T07:00:00Z"))
    }

    @Test("goes by the clock where the clock was named, and by the time that passes where an interval was")
    func clockChange() {
        let start = Moment.utc("2026-06-01T06:30:00Z")
        rig.now = start
        _ = rig.add("clock", .calendar(CalendarMoment(hour: 9), repeats: true))
        _ = rig.add("interval", interval(600))
        _ = rig.add("date", .at(.utc("2026-06-01T12:00:00Z")))
        rig.setClock(to: start.after(3600))
        #expect(rig.fired == ["clock"])
        #expect(rig.alarm.moment == start.after(3600 + 600))
        rig.setClock(to: start)
        #expect(rig.alarm.moment == start.after(600))
        rig.pass(until: .utc("2026-06-01T13:00:00Z"))
        #expect(rig.fired == ["clock", "interval", "clock", "date"])
    }

    @Test("an interval is never longer than it is, by whatever clock the device was started")
    func startedByAnotherClock() throws {
        let start = Moment.utc("2026-06-01T06:30:00Z")
        rig.now = start
        _ = rig.add("interval", interval(600))
        try rig.restart(at: .utc("1970-01-01T00:00:10Z"))
        rig.setClock(to: start.after(60))
        #expect(rig.alarm.moment == start.after(60 + 600))
        rig.pass(until: start.after(60 + 600))
        #expect(rig.fired == ["interval"])
    }

    @Test("what was missed by a clock that ran ahead is pending again once the clock is right")
    func missedByAnotherClock() throws {
        let start = Moment.utc("2026-06-01T06:30:00Z")
        rig.now = start
        _ = rig.add("date", .at(.utc("2026-06-01T12:00:00Z")))
        _ = rig.add("clock", .calendar(CalendarMoment(hour: 9), repeats: true))
        rig.setClock(to: start.after(400 * 86_400))
        #expect(rig.list(.missed) == ["date"])
        rig.setClock(to: start)
        #expect(rig.list(.missed).isEmpty && rig.list(.pending).sorted() == ["clock", "date"])
        rig.pass(until: .utc("2026-06-01T13:00:00Z"))
        #expect(rig.fired.filter { $0 == "date" } == ["date"])
    }

    @Test("an interval counts the time that goes by also where the disk was full when the clock was set")
    func setClockWithFullDisk() throws {
        let start = rig.now
        let right = start.after(2 * 86_400)
        let database = rig.rig.ground.state.trusted.file.database
        #expect(rig.add("a", interval(600)) == .done)
        try database.execute("PRAGMA query_only = 1")
        rig.setClock(to: right)
        #expect(rig.fired.isEmpty && rig.list(.pending) == ["a"])
        guard case .refused = rig.add("b", interval(60)) else {
            Issue.record("what cannot be stored is accepted")
            return
        }
        try database.execute("PRAGMA query_only = 0")
        #expect(rig.add("c", interval(300)) == .done)
        rig.rig.clock.fireTimers()
        #expect(rig.list(.missed).isEmpty && rig.list(.pending) == ["c", "a"])
        rig.pass(until: right.after(600))
        #expect(rig.firings.map(\.notice.at) == [right.after(300), right.after(600)])
    }

    @Test("goes with the device to another zone, but where a zone was named")
    func zones() {
        rig.now = .utc("2026-06-01T00:00:00Z")
        _ = rig.add("own", .calendar(CalendarMoment(hour: 9), repeats: false))
        _ = rig.add("berlin", .calendar(CalendarMoment(hour: 9, zone: "Europe/Berlin"), repeats: false))
        rig.move(to: "Asia/Tokyo")
        // Nine o'clock in Tokyo is midnight in UTC.
        rig.pass(until: .utc("2026-06-01T23:59:59Z"))
        #expect(rig.fired == ["berlin"])
        rig.pass(until: .utc("2026-06-02T00:00:00Z"))
        #expect(rig.fired == ["berlin", "own"])
    }

    @Test("has room for so many pending, and always for another version of one of them")
    func bound() {
        for number in 1...Limits.pendingPerTopic { #expect(rig.add("\(number)", interval(10)) == .done) }
        #expect(
            rig.add("more", interval(10))
                == .refused(
                    "The app has 64 notifications pending, the most: remove one first.",
                    isForbidden: false))
        #expect(rig.add("1", interval(10), title: "again") == .done)
        #expect(rig.list(.pending).count == Limits.pendingPerTopic)
    }

    @Test("keeps so many that were delivered, the newest")
    func deliveredBound() {
        for number in 0..<Limits.noticesPerTopic + 5 { _ = rig.add("\(number)", nil) }
        let kept = rig.list(.delivered)
        #expect(kept.count == Limits.noticesPerTopic && kept.first == "5")
    }

    @Test("is told what the user has done, which takes the notification away, and keeps it over a kill")
    func response() throws {
        _ = rig.add("a", nil)
        let notice = try #require(rig.firings.first).notice
        try rig.center.respond(to: .local(notice), of: CenterRig.topic, action: "reply", text: "yes")
        #expect(rig.list(.delivered).isEmpty)
        try rig.restart()
        let responses = rig.app.told.compactMap { message in
            if case .responded(let responded) = message { responded } else { nil }
        }
        #expect(responses.map(\.action) == ["reply"] && responses.map(\.text) == ["yes"])
        #expect(responses.map(\.subject) == [.local(notice)])
        #expect(rig.rig.desk.handled([1, 2], by: rig.app.stream))
        rig.endTurn()
        try rig.restart()
        #expect(rig.app.delivered.isEmpty && rig.fired.isEmpty)
    }

    @Test("answers no app that does not take what it is answered")
    func deafness() {
        var told: [AgentMessage] = []
        let stream = AppStream(user: 1000, countUnsent: { Limits.unsentBytesPerStream }) { told.append($0) }
        rig.center.take(CenterCall(call: 1, topic: CenterRig.topic, order: .list(.delivered)), from: stream)
        guard case .answer(let answer) = told.last, case .refused = answer.content else {
            Issue.record("it was answered")
            return
        }
    }

    @Test("keeps its log on the disk short, however often an app changes its mind")
    func log() throws {
        let title = String(repeating: "x", count: 7000)
        for _ in 0..<600 {
            #expect(rig.add("tea", .interval(milliseconds: 1_000_000, repeats: false), title: title) == .done)
        }
        let path = rig.rig.ground.scratch.state + "/agent.sqlite-wal"
        let size = try #require(
            try FileManager.default.attributesOfItem(atPath: path)[.size] as? NSNumber
        ).intValue
        // A page has 4 KiB, and the last change may exceed the limit.
        #expect(size < (Limits.logPages + 64) * 4200)
    }

    @Test("keeps an app's categories")
    func categories() throws {
        let categories = [LocalCategory(identifier: "c", actions: [])]
        #expect(rig.ask(.categories) == [.categories([])])
        #expect(rig.ask(.setCategories(categories)) == [.done])
        try rig.restart()
        #expect(rig.ask(.categories) == [.categories(categories)])
    }
}
