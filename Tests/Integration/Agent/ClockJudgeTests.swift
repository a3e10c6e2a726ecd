import PostriderCourier
import PostriderNotifications
import Testing

@testable import PostriderAgent

@Suite("A clock that was set while no agent ran")
struct ClockJudgeTests {
    private let fixture: CenterFixture
    private static let day: Int64 = 86_400
    /// The correct time.
    private let right = Moment.utc("2026-06-01T06:30:00Z")
    private var wrong: Moment { right.after(-60 * Self.day) }

    init() throws { fixture = try CenterFixture() }

    private func interval(_ days: Int64) -> Trigger {
        .interval(milliseconds: days * Self.day * 1000, repeats: false)
    }

    /// Starts the agent in this boot of a machine. Its wall clock is this far ahead of the time since that boot.
    private func start(boot: String, offset: Int64, at moment: Moment) throws {
        try fixture.restart(
            at: moment, reading: ClockReading(bootIdentifier: boot, offsetMilliseconds: offset * 1000))
    }

    @Test(
        "leaves a 20-day interval due when it is due, on a machine that was not started again",
        .bug(id: "A19"))
    func sameBoot() throws {
        try start(boot: "a", offset: 1000, at: wrong)
        #expect(fixture.add("tea", interval(20)) == .done)
        // One hour later, by the time since boot.
        try start(boot: "a", offset: 1000 + 60 * Self.day, at: right.after(3600))
        #expect(fixture.list(.missed).isEmpty && fixture.list(.pending) == ["tea"] && fixture.fired.isEmpty)
        #expect(fixture.alarm.moment == right.after(20 * Self.day))
        fixture.pass(until: right.after(20 * Self.day))
        #expect(fixture.fired == ["tea"])
    }

    @Test("is judged by the relay's where the machine was started again", .bug(id: "A19"))
    func otherBoot() throws {
        try start(boot: "a", offset: 1000, at: wrong)
        fixture.center.relayShows(right)
        #expect(fixture.add("tea", interval(20)) == .done)
        try start(boot: "b", offset: 2000, at: right.after(3600))
        #expect(fixture.list(.missed) == ["tea"])
        fixture.center.relayShows(right.after(3601))
        fixture.endTurn()
        #expect(fixture.list(.missed).isEmpty && fixture.list(.pending) == ["tea"] && fixture.fired.isEmpty)
        #expect(fixture.alarm.moment == right.after(20 * Self.day - 1))
    }

    @Test("is not written down again by a welcome that shows nothing new", .bug(id: "A18"))
    func sameAgain() throws {
        try start(boot: "a", offset: 1000, at: right)
        fixture.center.relayShows(right)
        let first = fixture.center.state.clock.kept
        #expect(first?.relayAheadMilliseconds == 0)
        fixture.center.relayShows(right.after(30))
        #expect(fixture.center.state.clock.kept == first)
        fixture.center.relayShows(right.after(90))
        #expect(fixture.center.state.clock.kept?.relayAheadMilliseconds == 90_000)
    }

    @Test("is not judged by a relay whose own clock was behind for a while", .bug(id: "A19"))
    func relayBehind() throws {
        try start(boot: "a", offset: 1000, at: right)
        fixture.center.relayShows(wrong)
        #expect(fixture.add("tea", interval(20)) == .done)
        try start(boot: "b", offset: 2000, at: right.after(3600))
        fixture.center.relayShows(right.after(3600))
        fixture.endTurn()
        #expect(fixture.list(.pending) == ["tea"] && fixture.list(.missed).isEmpty && fixture.fired.isEmpty)
    }

    @Test("that is right counts the time in which the machine was off", .bug(id: "A19"))
    func machineOff() throws {
        try start(boot: "a", offset: 1000, at: right)
        fixture.center.relayShows(right)
        #expect(fixture.add("tea", interval(20)) == .done)
        try start(boot: "b", offset: 2000, at: right.after(30 * Self.day))
        fixture.center.relayShows(right.after(30 * Self.day + 2))
        fixture.endTurn()
        #expect(fixture.list(.missed) == ["tea"] && fixture.list(.pending).isEmpty)
    }

    @Test("stays doubtful over starts of the agent until the relay is heard", .bug(id: "A19"))
    func staysDoubtful() throws {
        try start(boot: "a", offset: 1000, at: wrong)
        fixture.center.relayShows(right)
        #expect(fixture.add("tea", interval(20)) == .done)
        for _ in 0..<2 { try start(boot: "b", offset: 2000, at: right.after(3600)) }
        fixture.center.relayShows(right.after(3600))
        #expect(fixture.alarm.moment == right.after(20 * Self.day))
    }

    @Test(
        "is not judged by a relay whose clock jumps, on a machine that was not started again", .bug(id: "A19")
    )
    func relayJumps() throws {
        try start(boot: "a", offset: 1000, at: right)
        fixture.center.relayShows(right)
        #expect(fixture.add("tea", interval(20)) == .done)
        fixture.center.relayShows(right.after(400 * Self.day))
        #expect(fixture.alarm.moment == right.after(20 * Self.day))
    }
}
