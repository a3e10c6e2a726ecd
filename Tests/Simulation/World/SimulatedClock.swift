import PostriderNotifications
import PostriderTransport

/// The time of all loops of a run. It stands still until it is advanced; the wall clock beside it may be put forward
/// and back.
final class SimulatedClock {
    /// Since the run began, as the monotonic clock has it.
    private(set) var milliseconds: Int64 = 0
    /// How far the wall clock is ahead of where it was at the beginning and would be now.
    private var offset: Int64 = 0
    /// When the wall clock was changed, and what it showed before and after.
    private var jumps: [(at: Int64, before: Int64, after: Int64)] = []
    private var armed: [SimulatedTimer] = []

    /// When the run begins, since 1970.
    static let beginning: Int64 = 1_700_000_000_000

    /// Since 1970, as the relay sees it.
    var wallMilliseconds: Int64 { Self.beginning + offset + milliseconds }

    /// Somebody sets the wall clock.
    func jump(byMilliseconds interval: Int64) {
        let before = wallMilliseconds
        offset += interval
        jumps.append((milliseconds, before, wallMilliseconds))
    }

    /// Somebody sets the wall clock by mistake, and back afterwards: what it shows meanwhile counts for nobody.
    func mistake(byMilliseconds interval: Int64, _ meanwhile: () -> Void) {
        offset += interval
        meanwhile()
        offset -= interval
    }

    /// How far it was changed so far.
    var jumped: Int64 { offset }

    /// What the wall clock has shown since a moment of the monotonic one, which it showed then.
    func span(since start: Int64, showing wall: Int64) -> ClosedRange<Int64> {
        var (earliest, latest) = (wall, wallMilliseconds)
        for jump in jumps.reversed() where jump.at >= start {
            earliest = min(earliest, jump.after)
            latest = max(latest, jump.before)
        }
        return min(earliest, wallMilliseconds)...max(latest, wall)
    }

    /// The latest moment that the wall clock has shown.
    var latest: Int64 { max(wallMilliseconds, jumps.map(\.before).max() ?? 0) }

    /// What the wall clock has shown since a stamp.
    func span(since stamp: Stamp) -> ClosedRange<Int64> { span(since: stamp.monotonic, showing: stamp.wall) }

    /// Now, by both clocks.
    var stamp: Stamp { Stamp(monotonic: milliseconds, wall: wallMilliseconds) }

    fileprivate func arm(_ timer: SimulatedTimer) { armed.append(timer) }
    fileprivate func disarm(_ timer: SimulatedTimer) {
        if let index = armed.firstIndex(where: { $0 === timer }) { armed.remove(at: index) }
    }

    /// The one that is due first, of those that are due until then; of two the one that was armed first.
    private func next(until end: Int64) -> SimulatedTimer? {
        var found: SimulatedTimer?
        var due = end + 1
        for timer in armed where timer.dueAt < due { (found, due) = (timer, timer.dueAt) }
        return found
    }

    /// Goes on in time, timer by timer; `fire` gives each its turn.
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

/// A moment by both clocks.
struct Stamp {
    let monotonic: Int64
    let wall: Int64
}

/// What one shard sees of the clock.
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

/// A timer on the clock, which knows whose turn it is when it fires.
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

/// What a session holds of its timer: dropping it disarms.
private final class TimerHandle: LoopTimer {
    private let timer: SimulatedTimer

    init(_ timer: SimulatedTimer) { self.timer = timer }
    deinit { timer.disarm() }

    func arm(afterMilliseconds milliseconds: Int) { timer.arm(afterMilliseconds: milliseconds) }
    func disarm() { timer.disarm() }
    var isArmed: Bool { timer.isWaiting }
}
