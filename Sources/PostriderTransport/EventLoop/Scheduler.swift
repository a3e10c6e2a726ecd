/// The clock and timers that a handler uses: an event loop, or the simulator's own type.
public protocol Scheduler: AnyObject {
    /// Monotonic time in nanoseconds, read once per turn.
    var now: UInt64 { get }

    /// Wall-clock time in milliseconds since 1970, read together with `now`.
    var wallMilliseconds: Int64 { get }

    /// Makes a timer that runs `fire` on this loop. It is not armed yet. Releasing the timer disarms it.
    func makeTimer(_ fire: @escaping () -> Void) -> any LoopTimer
}

/// A timer of a loop. It is made once, and arming it allocates nothing.
public protocol LoopTimer: AnyObject {
    /// Fires once, not earlier than `milliseconds` after the loop's `now`, and replaces an earlier arming.
    func arm(afterMilliseconds milliseconds: Int)

    /// Disarms the timer if it is armed.
    func disarm()

    /// Whether the timer is going to fire.
    var isArmed: Bool { get }
}
