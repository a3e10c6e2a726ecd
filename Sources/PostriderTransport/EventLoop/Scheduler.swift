/// What a session needs of time. An event loop is one; a simulator has its own.
public protocol Scheduler: AnyObject {
    /// Monotonic nanoseconds, read once per turn.
    var now: UInt64 { get }

    /// Milliseconds since 1970, read with `now`.
    var wallMilliseconds: Int64 { get }

    /// A timer, not yet armed, that runs `fire` on this loop. Dropping the timer disarms it.
    func makeTimer(_ fire: @escaping () -> Void) -> any LoopTimer
}

/// A timer of a loop: made once, armed as often as needed without allocating.
public protocol LoopTimer: AnyObject {
    /// Fires once, never before `milliseconds` have gone by since the loop's `now`; replaces an earlier
    /// arming.
    func arm(afterMilliseconds milliseconds: Int)

    /// Takes back the arming, if there is one.
    func disarm()

    /// Whether it is going to fire.
    var isArmed: Bool { get }
}
