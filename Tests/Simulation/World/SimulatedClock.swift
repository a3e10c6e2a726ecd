import PostriderNotifications
import PostriderTransport

/// The time of all loops of a run. It passes only when it is advanced. The wall clock can be set forward and back.
final class SimulatedClock {
    /// Milliseconds since the run began: the monotonic clock.
    private(set) var milliseconds: Int64 = 0
    /// Milliseconds by which the wall clock was set forward since the beginning.
    private var offset: Int64 = 0
    /// Each change of the wall clock, with its time before and after.
    private var jumps: [(at: Int64, before: Int64, after: Int64)] = []
    private var armed: [SimulatedTimer] = []

    /// The wall-clock time at which the run begins, in milliseconds since 1970.
    static let beginning: Int64 = 1_700_000_000_000

    /// The wall clock as the relay sees it, in milliseconds since 1970.
    var wallMilliseconds: Int64 { Self.beginning + offset + milliseconds }

    /// Sets the wall clock.
    func jump(byMilliseconds interval: Int64) {
        let before = wallMilliseconds
        offset += interval
        jumps.append((milliseconds, before, wallMilliseconds))
    }

    /// Sets the wall clock by mistake, and back afterwards. What it shows meanwhile is not recorded.
    func mistake(byMilliseconds interval: Int64, _ meanwhile: () -> Void) {
        offset += interval
        meanwhile()
        offset -= interval
    }

    /// The sum of all changes in milliseconds.
    var jumped: Int64 { offset }

    /// The range of times that the wall clock has shown since a monotonic time, at which it showed `wall`.
    func span(since start: Int64, showing wall: Int64) -> ClosedRange<Int64> {
        var (earliest, latest) = (wall, wallMilliseconds)
        for jump in jumps.reversed() where jump.at >= start {
            earliest = min(earliest, jump.after)
            latest = max(latest, jump.before)
        }
        return min(earliest, wallMilliseconds)...max(latest, wall)
    }

    /// The latest time that the wall clock has shown.
    var latest: Int64 { max(wallMilliseconds, jumps.map(\.before).max() ?? 0) }

    /// The range of times that the wall clock has shown since a stamp.
    func span(since stamp: Stamp) -> ClosedRange<Int64> { span(since: stamp.monotonic, showing: stamp.wall) }

    /// The current time by both clocks.
    var stamp: Stamp { Stamp(monotonic: milliseconds, wall: wallMilliseconds) }

    fileprivate func arm(_ timer: SimulatedTimer) { armed.append(timer) }
    fileprivate func disarm(_ timer: SimulatedTimer) {
        if let index = armed.firstIndex(where: { $0 === timer }) { armed.remove(at: index) }
    }

    /// The timer that is due first, among those due until then; of two, the one that was armed first.
    private func next(until end: Int64) -> SimulatedTimer? {
        var found: SimulatedTimer?
        var due = end + 1
        for timer in armed where timer.dueAt < due { (found, due) = (timer, timer.dueAt) }
        return found
    }

    /// Advances the time, timer by timer; `fire` runs the turn of each.
    func advance(byMilliseconds interval: Int64, _ fire: (SimulatedTimer) -> Void) {
        let end = milliseconds + interval
        while let next = next(until: end) {
            milliseconds = max(milliseconds, next.dueAt)
            next.disarm()
            fire(next)
        }
        milliseconds = end
    }
}

/// A time by both clocks.
struct Stamp {
    let monotonic: Int64
    let wall: Int64
}

/// One shard's view of the clock.
final class SimulatedScheduler: Scheduler {
    let shard: Int
    private let clock: SimulatedClock
    private let lagMilliseconds: Int64

    init(shard: Int, clock: SimulatedClock, lagMilliseconds: Int64 = 0) {
        self.shard = shard
        self.clock = clock
        self.lagMilliseconds = lagMilliseconds
    }

    var now: UInt64 { UInt64(clock.milliseconds) * 1_000_000 }
    var wallMilliseconds: Int64 { clock.wallMilliseconds - lagMilliseconds }

    func makeTimer(_ fire: @escaping () -> Void) -> any LoopTimer {
        TimerHandle(SimulatedTimer(shard: shard, clock: clock, fire: fire))
    }
}

/// A timer on the clock, with the loop that it belongs to.
final class SimulatedTimer {
    let shard: Int
    let fire: () -> Void
    fileprivate(set) var dueAt: Int64 = 0
    private var isArmed = false
    private let clock: SimulatedClock

    fileprivate init(shard: Int, clock: SimulatedClock, fire: @escaping () -> Void) {
        self.shard = shard
        self.clock = clock
        self.fire = fire
    }

    fileprivate var isWaiting: Bool { isArmed }

    fileprivate func arm(afterMilliseconds interval: Int) {
        disarm()
        dueAt = clock.milliseconds + Int64(max(1, interval))
        isArmed = true
        clock.arm(self)
    }

    fileprivate func disarm() {
        guard isArmed else { return }
        isArmed = false
        clock.disarm(self)
    }
}

/// A session's handle of its timer: dropping it disarms the timer.
private final class TimerHandle: LoopTimer {
    private let timer: SimulatedTimer

    init(_ timer: SimulatedTimer) { self.timer = timer }
    deinit { timer.disarm() }

    func arm(afterMilliseconds milliseconds: Int) { timer.arm(afterMilliseconds: milliseconds) }
    func disarm() { timer.disarm() }
    var isArmed: Bool { timer.isWaiting }
}
