import Foundation
import PostriderCourier
import PostriderNotifications
import PostriderStorage
import Testing

@testable import PostriderAgent

@Suite("A user notification centre at the agent")
struct LocalNotificationsTests {
    private let fixture: CenterFixture

    init() throws { fixture = try CenterFixture() }

    private func interval(_ seconds: Int64, repeats: Bool = false) -> Trigger {
        .interval(milliseconds: seconds * 1000, repeats: repeats)
    }

    @Test("are handed to an app that listens as they are stored, and read from the disk only for another")
    func inHand() throws {
        let fixture = try CenterFixture()
        // Whatever is stored from now on cannot be read.
        try fixture.fixture.files.state.trusted.file.database.execute(
            "CREATE TEMP TRIGGER damage AFTER INSERT ON inbox BEGIN UPDATE inbox SET message = x'00'; END")
        #expect(fixture.add("now", nil) == .done)
        #expect(fixture.add("soon", interval(60)) == .done)
        fixture.pass(until: fixture.now.after(61))
        #expect(fixture.fired == ["now", "soon"])
        let next = fixture.fixture.attached()
        #expect(next.told.allSatisfy { if case .fired = $0 { false } else { true } })
    }

    @Test("hands over a notification when its moment comes, and lists it as delivered")
    func firing() throws {
        let start = fixture.now
        #expect(fixture.add("a", interval(10)) == .done)
        #expect(fixture.alarm.moment == start.after(10))
        fixture.pass(until: start.after(9))
        #expect(fixture.fired.isEmpty && fixture.list(.pending) == ["a"])
        fixture.pass(until: start.after(11))
        #expect(fixture.fired == ["a"])
        #expect(fixture.firings.map(\.notice.at) == [start.after(10)])
        #expect(
            fixture.list(.pending).isEmpty && fixture.list(.delivered) == ["a"]
                && fixture.list(.missed).isEmpty)
        #expect(fixture.alarm.moment == nil)
    }

    @Test("hands over at once what has no trigger, and takes back what was pending under its name")
    func atOnce() {
        _ = fixture.add("a", interval(10), title: "1")
        #expect(fixture.add("a", nil, title: "2") == .done)
        #expect(fixture.fired == ["a2"] && fixture.list(.pending).isEmpty)
    }

    @Test("fires again and again what repeats, each a parcel of its own")
    func repetition() {
        let start = fixture.now
        _ = fixture.add("a", interval(60, repeats: true))
        fixture.pass(until: start.after(200))
        #expect(fixture.firings.map(\.notice.at) == [60, 120, 180].map { start.after($0) })
        #expect(Set(fixture.firings.map(\.identity)).count == 3)
        #expect(fixture.list(.pending) == ["a"] && fixture.list(.delivered) == ["a"])
    }

    @Test("replaces what is pending under a name, and takes back what it is told to")
    func replacement() {
        let start = fixture.now
        for identifier in ["a", "b", "c", "d"] { _ = fixture.add(identifier, interval(10), title: "1") }
        _ = fixture.add("a", interval(20), title: "2")
        #expect(fixture.list(.pending) == ["b1", "c1", "d1", "a2"])
        #expect(fixture.ask(.removePending(.some(["b", "x"]))) == [.done])
        fixture.pass(until: start.after(30))
        #expect(fixture.fired == ["c1", "d1", "a2"])
        _ = fixture.add("e", interval(10))
        #expect(fixture.ask(.removePending(.all)) == [.done])
        #expect(fixture.alarm.moment == nil && fixture.list(.pending).isEmpty)
        #expect(fixture.ask(.removeDelivered(.some(["c"]))) == [.done])
        #expect(fixture.list(.delivered) == ["d1", "a2"])
        #expect(fixture.ask(.removeDelivered(.all)) == [.done])
        #expect(fixture.list(.delivered).isEmpty)
    }

    @Test("hands over again what the app has not handled, and nothing that it has, whoever is killed")
    func exactlyOnce() throws {
        let start = fixture.now
        for identifier in ["a", "b"] { _ = fixture.add(identifier, interval(1)) }
        fixture.pass(until: start.after(2))
        let identities = fixture.firings.map(\.identity)
        #expect(fixture.fixture.deliveries.handled([1], by: fixture.app.stream))
        fixture.endTurn()
        try fixture.restart()
        #expect(fixture.firings.map(\.identity) == Array(identities.suffix(1)) && fixture.fired == ["b"])
    }

    @Test("keeps its schedule over a restart, and what is due later is not disturbed by what was due")
    func restart() throws {
        let start = fixture.now
        _ = fixture.add("a", interval(10))
        _ = fixture.add("b", interval(100))
        try fixture.restart(at: start.after(50))
        #expect(fixture.fired == ["a"] && fixture.alarm.moment == start.after(100))
        #expect(fixture.firings.map(\.firedAt) == [start.after(50)])
        #expect(fixture.firings.map(\.notice.at) == [start.after(10)])
        fixture.pass(until: start.after(100))
        #expect(fixture.fired == ["a", "b"])
    }

    @Test("delivers what was missed for a day at most, of what repeats the newest, and lists the rest")
    func missed() throws {
        let start = Moment.utc("2026-06-01T06:00:00Z")
        fixture.now = start
        _ = fixture.add("once", .calendar(CalendarMoment(hour: 9), repeats: false))
        _ = fixture.add("daily", .calendar(CalendarMoment(hour: 9), repeats: true))
        _ = fixture.add("monthly", .calendar(CalendarMoment(day: 2), repeats: true))
        try fixture.restart(at: .utc("2026-06-05T08:00:00Z"))
        #expect(fixture.fired == ["daily"])
        #expect(fixture.firings.map(\.notice.at) == [.utc("2026-06-05T07:00:00Z")])
        #expect(fixture.list(.missed) == ["once", "monthly"])
        #expect(fixture.list(.pending) == ["daily", "monthly"])
        #expect(fixture.alarm.moment == .utc("2026-06-06T07:00:00Z"))
    }

    @Test("goes by the clock where the clock was named, and by the time that passes where an interval was")
    func clockChange() {
        let start = Moment.utc("2026-06-01T06:30:00Z")
        fixture.now = start
        _ = fixture.add("clock", .calendar(CalendarMoment(hour: 9), repeats: true))
        _ = fixture.add("interval", interval(600))
        _ = fixture.add("date", .at(.utc("2026-06-01T12:00:00Z")))
        fixture.setClock(to: start.after(3600))
        #expect(fixture.fired == ["clock"])
        #expect(fixture.alarm.moment == start.after(3600 + 600))
        fixture.setClock(to: start)
        #expect(fixture.alarm.moment == start.after(600))
        fixture.pass(until: .utc("2026-06-01T13:00:00Z"))
        #expect(fixture.fired == ["clock", "interval", "clock", "date"])
    }

    @Test("an interval is never longer than it is, by whatever clock the device was started")
    func startedByAnotherClock() throws {
        let start = Moment.utc("2026-06-01T06:30:00Z")
        fixture.now = start
        _ = fixture.add("interval", interval(600))
        try fixture.restart(at: .utc("1970-01-01T00:00:10Z"))
        fixture.setClock(to: start.after(60))
        #expect(fixture.alarm.moment == start.after(60 + 600))
        fixture.pass(until: start.after(60 + 600))
        #expect(fixture.fired == ["interval"])
    }

    @Test("what was missed by a clock that ran ahead is pending again once the clock is right")
    func missedByAnotherClock() throws {
        let start = Moment.utc("2026-06-01T06:30:00Z")
        fixture.now = start
        _ = fixture.add("date", .at(.utc("2026-06-01T12:00:00Z")))
        _ = fixture.add("clock", .calendar(CalendarMoment(hour: 9), repeats: true))
        fixture.setClock(to: start.after(400 * 86_400))
        #expect(fixture.list(.missed) == ["date"])
        fixture.setClock(to: start)
        #expect(fixture.list(.missed).isEmpty && fixture.list(.pending).sorted() == ["clock", "date"])
        fixture.pass(until: .utc("2026-06-01T13:00:00Z"))
        #expect(fixture.fired.filter { $0 == "date" } == ["date"])
    }

    @Test("an interval counts the time that goes by also where the disk was full when the clock was set")
    func setClockWithFullDisk() throws {
        let start = fixture.now
        let right = start.after(2 * 86_400)
        let database = fixture.fixture.files.state.trusted.file.database
        #expect(fixture.add("a", interval(600)) == .done)
        try database.execute("PRAGMA query_only = 1")
        fixture.setClock(to: right)
        #expect(fixture.fired.isEmpty && fixture.list(.pending) == ["a"])
        guard case .refused = fixture.add("b", interval(60)) else {
            Issue.record("what cannot be stored is accepted")
            return
        }
        try database.execute("PRAGMA query_only = 0")
        #expect(fixture.add("c", interval(300)) == .done)
        fixture.fixture.clock.fireTimers()
        #expect(fixture.list(.missed).isEmpty && fixture.list(.pending) == ["c", "a"])
        fixture.pass(until: right.after(600))
        #expect(fixture.firings.map(\.notice.at) == [right.after(300), right.after(600)])
    }

    @Test("goes with the device to another zone, but where a zone was named")
    func zones() {
        fixture.now = .utc("2026-06-01T00:00:00Z")
        _ = fixture.add("own", .calendar(CalendarMoment(hour: 9), repeats: false))
        _ = fixture.add("berlin", .calendar(CalendarMoment(hour: 9, zone: "Europe/Berlin"), repeats: false))
        fixture.move(to: "Asia/Tokyo")
        // Nine o'clock in Tokyo is midnight in UTC.
        fixture.pass(until: .utc("2026-06-01T23:59:59Z"))
        #expect(fixture.fired == ["berlin"])
        fixture.pass(until: .utc("2026-06-02T00:00:00Z"))
        #expect(fixture.fired == ["berlin", "own"])
    }

    @Test("has room for so many pending, and always for another version of one of them")
    func bound() {
        for number in 1...Limits.pendingPerTopic { #expect(fixture.add("\(number)", interval(10)) == .done) }
        #expect(
            fixture.add("more", interval(10))
                == .refused(
                    "The app has 64 notifications pending, the most: remove one first.",
                    isForbidden: false))
        #expect(fixture.add("1", interval(10), title: "again") == .done)
        #expect(fixture.list(.pending).count == Limits.pendingPerTopic)
    }

    @Test("keeps so many that were delivered, the newest")
    func deliveredBound() {
        for number in 0..<Limits.noticesPerTopic + 5 { _ = fixture.add("\(number)", nil) }
        let kept = fixture.list(.delivered)
        #expect(kept.count == Limits.noticesPerTopic && kept.first == "5")
    }

    @Test("is told what the user has done, which takes the notification away, and keeps it over a kill")
    func response() throws {
        _ = fixture.add("a", nil)
        let notice = try #require(fixture.firings.first).notice
        try fixture.center.respond(to: .local(notice), of: CenterFixture.topic, action: "reply", text: "yes")
        #expect(fixture.list(.delivered).isEmpty)
        try fixture.restart()
        let responses = fixture.app.told.compactMap { message in
            if case .responded(let responded) = message { responded } else { nil }
        }
        #expect(responses.map(\.action) == ["reply"] && responses.map(\.text) == ["yes"])
        #expect(responses.map(\.subject) == [.local(notice)])
        #expect(fixture.fixture.deliveries.handled([1, 2], by: fixture.app.stream))
        fixture.endTurn()
        try fixture.restart()
        #expect(fixture.app.delivered.isEmpty && fixture.fired.isEmpty)
    }

    @Test("answers no app that does not take what it is answered")
    func deafness() {
        var told: [AgentMessage] = []
        let stream = AppStream(user: 1000, countUnsent: { Limits.unsentBytesPerStream }) { told.append($0) }
        fixture.center.take(
            CenterCall(call: 1, topic: CenterFixture.topic, order: .list(.delivered)), from: stream)
        guard case .answer(let answer) = told.last, case .refused = answer.content else {
            Issue.record("it was answered")
            return
        }
    }

    @Test("keeps its log on the disk short, however often an app changes its mind")
    func log() throws {
        let title = String(repeating: "x", count: 7000)
        for _ in 0..<600 {
            #expect(
                fixture.add("tea", .interval(milliseconds: 1_000_000, repeats: false), title: title) == .done)
        }
        let path = fixture.fixture.files.scratch.state + "/agent.sqlite-wal"
        let size = try #require(
            try FileManager.default.attributesOfItem(atPath: path)[.size] as? NSNumber
        ).intValue
        // A page has 4 KiB, and the last change may exceed the limit.
        #expect(size < (Limits.logPages + 64) * 4200)
    }

    @Test("keeps an app's categories")
    func categories() throws {
        let categories = [LocalCategory(identifier: "c", actions: [])]
        #expect(fixture.ask(.categories) == [.categories([])])
        #expect(fixture.ask(.setCategories(categories)) == [.done])
        try fixture.restart()
        #expect(fixture.ask(.categories) == [.categories(categories)])
    }
}
