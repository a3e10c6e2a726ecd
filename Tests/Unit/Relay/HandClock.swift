import PostriderNotifications
import PostriderTransport
import RelayFixtures

@testable import PostriderRelay

/// A clock that the test moves.
final class HandClock: Scheduler {
    final class Timer: LoopTimer {
        let fire: () -> Void
        private unowned let clock: HandClock
        fileprivate var dueAt: UInt64?

        fileprivate init(_ clock: HandClock, _ fire: @escaping () -> Void) {
            self.clock = clock
            self.fire = fire
        }

        func arm(afterMilliseconds milliseconds: Int) {
            dueAt = clock.now + UInt64(milliseconds) * 1_000_000
        }

        func disarm() { dueAt = nil }
        var isArmed: Bool { dueAt != nil }
    }

    /// A timer that rings only while somebody else holds it.
    private struct Known {
        weak var timer: Timer?
    }

    private(set) var now: UInt64 = 0
    private var known: [Known] = []

    var shiftMilliseconds: Int64 = 0
    var wallMilliseconds: Int64 { Samples.now.milliseconds + shiftMilliseconds + Int64(now / 1_000_000) }

    func makeTimer(_ fire: @escaping () -> Void) -> any LoopTimer {
        let timer = Timer(self, fire)
        known.append(Known(timer: timer))
        return timer
    }

    func advance(byMilliseconds interval: Int) {
        let end = now + UInt64(interval) * 1_000_000
        known.removeAll { $0.timer == nil }
        while let next = firstDue(by: end) {
            now = max(now, next.dueAt ?? now)
            next.dueAt = nil
            next.fire()
        }
        now = end
    }

    /// The timer that fires first until this time. Of several that fire at the same time, the oldest is first.
    private func firstDue(by end: UInt64) -> Timer? {
        var first: (timer: Timer, dueAt: UInt64)?
        for one in known {
            guard let timer = one.timer, let dueAt = timer.dueAt, dueAt <= end, dueAt < first?.dueAt ?? .max
            else { continue }
            first = (timer, dueAt)
        }
        return first?.timer
    }
}
