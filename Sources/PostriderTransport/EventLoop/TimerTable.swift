/// The timers of one loop: the action of each, and the wheel that knows when each is due.
final class TimerTable {
    private static let nanosecondsPerTick: UInt64 = 1_000_000

    private(set) var now: UInt64
    private var wheel: TimerWheel
    private var actions: [(() -> Void)?] = []
    private var due: [Int32] = []

    init(now: UInt64) {
        self.now = now
        wheel = TimerWheel(now: now / Self.nanosecondsPerTick)
    }

    /// Milliseconds until the wheel has to be advanced again, rounded up; nil if no timer is armed.
    var nextMilliseconds: Int? {
        guard let tick = wheel.nextTick else { return nil }
        let at = tick * Self.nanosecondsPerTick
        return at <= now ? 0 : Int((at - now + Self.nanosecondsPerTick - 1) / Self.nanosecondsPerTick)
    }

    /// Advances to `now` and fires what is due. While a timer fires, it may disarm, arm or release any other.
    func advance(to now: UInt64) {
        self.now = now
        wheel.advance(to: now / Self.nanosecondsPerTick, due: &due)
        guard !due.isEmpty else { return }
        var fired: [Int32] = []
        swap(&fired, &due)
        for index in fired where wheel.claim(index) {
            if let action = actions[Int(index)] { action() }
        }
        fired.removeAll(keepingCapacity: true)
        swap(&fired, &due)
    }

    /// Timers that are armed from here on count from `now`. Timers that are already due fire with the next advance.
    func catchUp(with now: UInt64) { self.now = now }

    func makeTimer(_ fire: @escaping () -> Void) -> WheelTimer {
        let index = wheel.insert()
        if Int(index) == actions.count { actions.append(fire) } else { actions[Int(index)] = fire }
        return WheelTimer(table: self, index: index)
    }

    fileprivate func arm(_ index: Int32, afterMilliseconds milliseconds: Int) {
        let deadline = now + UInt64(max(0, milliseconds)) * Self.nanosecondsPerTick
        wheel.arm(index, at: (deadline + Self.nanosecondsPerTick - 1) / Self.nanosecondsPerTick)
    }

    fileprivate func disarm(_ index: Int32) { wheel.disarm(index) }

    fileprivate func isArmed(_ index: Int32) -> Bool { wheel.isArmed(index) }

    /// The action is released last, because its captures may own other timers, whose release comes here too.
    fileprivate func remove(_ index: Int32) {
        let action = actions[Int(index)]
        withExtendedLifetime(action) {
            actions[Int(index)] = nil
            wheel.remove(index)
        }
    }
}

/// A handle on one entry of the table. The entry is removed when the handle is released.
final class WheelTimer: LoopTimer {
    private let table: TimerTable
    private let index: Int32

    init(table: TimerTable, index: Int32) {
        self.table = table
        self.index = index
    }

    deinit { table.remove(index) }

    func arm(afterMilliseconds milliseconds: Int) { table.arm(index, afterMilliseconds: milliseconds) }

    func disarm() { table.disarm(index) }

    var isArmed: Bool { table.isArmed(index) }
}
