import Transport

/// The time of all loops of a run. It stands still until it is advanced.
final class SimulatedClock {
    private(set) var milliseconds: Int64 = 0
    private var armed: [SimulatedTimer] = []

    /// When the run begins, since 1970.
    static let beginning: Int64 = 1_700_000_000_000

    fileprivate func arm(_ timer: SimulatedTimer) { armed.append(timer) }
    fileprivate func disarm(_ timer: SimulatedTimer) { armed.removeAll { $0 === timer } }

    /// Goes on in time, timer by timer; `fire` gives each its turn.
    func advance(byMilliseconds interval: Int64, _ fire: (SimulatedTimer) -> Void) {
        let end = milliseconds + interval
        while let next = armed.filter({ $0.dueAt <= end }).min(by: { $0.dueAt < $1.dueAt }) {
            milliseconds = max(milliseconds, next.dueAt)
            disarm(next)
            next.isArmed = false
            fire(next)
        }
        milliseconds = end
    }
}

/// What one shard sees of the clock.
final class SimulatedScheduler: Scheduler {
    let shard: Int
    private let clock: SimulatedClock

    init(shard: Int, clock: SimulatedClock) {
        self.shard = shard
        self.clock = clock
    }

    var now: UInt64 { UInt64(clock.milliseconds) * 1_000_000 }
    var wallMilliseconds: Int64 { SimulatedClock.beginning + clock.milliseconds }

    func makeTimer(_ fire: @escaping () -> Void) -> any LoopTimer {
        TimerHandle(SimulatedTimer(shard: shard, clock: clock, fire: fire))
    }
}

/// A timer on the clock, which knows whose turn it is when it fires.
final class SimulatedTimer {
    let shard: Int
    let fire: () -> Void
    fileprivate(set) var dueAt: Int64 = 0
    fileprivate(set) var isArmed = false
    private let clock: SimulatedClock

    fileprivate init(shard: Int, clock: SimulatedClock, fire: @escaping () -> Void) {
        self.shard = shard
        self.clock = clock
        self.fire = fire
    }

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
    var isArmed: Bool { timer.isArmed }
}
