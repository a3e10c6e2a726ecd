import PostriderNotifications
import Testing

@testable import PostriderRelay

@Suite("What the program of on-presence is told")
struct PresenceDebounceTests {
    private func event(
        _ what: Control.DeviceEvent.What, _ identity: String = "a", at: Int64 = 0
    ) -> Control.DeviceEvent {
        Control.DeviceEvent(
            what: what, at: at, identity: identity, name: identity, address: "", agent: "",
            ending: what == .away ? "cut" : nil)
    }

    @Test("is a change that has lasted for five seconds")
    func settling() {
        var debounce = PresenceDebounce(before: [], now: 0)
        debounce.take(event(.connected), now: 0)
        #expect(debounce.takeDue(now: 4_999).isEmpty)
        #expect(debounce.nextDue == 5_000)
        #expect(debounce.takeDue(now: 5_000).map(\.what) == [.connected])
        debounce.take(event(.away), now: 6_000)
        debounce.take(event(.connected), now: 8_000)
        #expect(debounce.takeDue(now: 13_000).isEmpty)
        #expect(debounce.nextDue == nil)
    }

    @Test("comes after a minute at the latest, however often a device comes and goes")
    func bound() {
        var debounce = PresenceDebounce(before: [], now: 0)
        for second in 0..<20 {
            debounce.take(event(second.isMultiple(of: 2) ? .away : .connected), now: Int64(second) * 4_000)
            if second < 15 { #expect(debounce.takeDue(now: Int64(second) * 4_000).isEmpty) }
        }
        #expect(debounce.takeDue(now: 80_000).count == 1)
    }

    @Test("is not that devices come back after a start of the relay, but those that do not")
    func start() {
        var debounce = PresenceDebounce(before: [event(.away, "a"), event(.away, "b")], now: 0)
        debounce.take(event(.connected, "a"), now: 3_000)
        #expect(debounce.takeDue(now: 60_000).isEmpty)
        #expect(debounce.takeDue(now: PresenceDebounce.returnMilliseconds).map(\.identity) == ["b"])
    }

    @Test("is not that a device has moved, but if it has not come: and a change from before that, at once")
    func moves() {
        var away = event(.away)
        away.ending = "moved"
        var (former, next) = (PresenceDebounce(before: [], now: 0), PresenceDebounce(before: [], now: 0))
        former.take(event(.connected), now: 0)
        former.take(away, now: 1_000)
        #expect(former.takeDue(now: 1_000).map(\.what) == [.connected])
        next.expect(away, now: 1_000)
        next.take(event(.connected), now: 2_000)
        #expect(next.takeDue(now: 300_000).isEmpty && next.nextDue == nil)
        next.take(away, now: 300_000)
        former.expect(away, now: 300_000)
        #expect(next.takeDue(now: 900_000).isEmpty && former.takeDue(now: 419_999).isEmpty)
        #expect(former.takeDue(now: 420_000).map(\.ending) == ["moved"])
    }

    @Test("is every enrolment and removal, at once and in order")
    func enrolments() {
        var debounce = PresenceDebounce(before: [], now: 0)
        debounce.take(event(.removed, "b", at: 2), now: 2)
        debounce.take(event(.enrolled, "a", at: 1), now: 2)
        #expect(debounce.takeDue(now: 2).map(\.identity) == ["a", "b"])
    }

    @Test("are so many devices in one run, and the others in the next")
    func batches() {
        var debounce = PresenceDebounce(before: [], now: 0)
        for number in 0...Limits.presencesPerRun {
            debounce.take(event(.connected, "\(number)", at: Int64(number)), now: 0)
        }
        #expect(debounce.takeDue(now: 5_000).count == Limits.presencesPerRun)
        #expect(debounce.nextDue == .min)
        #expect(debounce.takeDue(now: 5_000).map(\.identity) == ["\(Limits.presencesPerRun)"])
    }

    @Test("is not more than there is room for, and how much is missing is counted")
    func room() {
        var debounce = PresenceDebounce(before: [], now: 0)
        for number in 0..<Limits.presencesWaiting + 3 {
            debounce.take(event(.connected, "\(number)"), now: 0)
        }
        #expect(debounce.takeDropped() == 3)
        #expect(debounce.takeDropped() == 0)
    }
}
