import PostriderNotifications

/// Decides when a device reconnects: exponential back-off with full jitter, so that not all devices return to a relay
/// at once. It also applies after a connection that was closed in order.
public struct Backoff: Sendable {
    private let baseMilliseconds: Int
    private let capMilliseconds: Int
    private let stableMilliseconds: Int
    private var ceiling: Int

    /// Creates a back-off. The delay is at most `baseMilliseconds` after the first failure, and twice as long after
    /// each further one, up to `capMilliseconds`. It starts again from the base after a connection that was up for
    /// `stableMilliseconds`.
    public init(baseMilliseconds: Int = 500, capMilliseconds: Int = 60_000, stableMilliseconds: Int = 30_000)
    {
        precondition(
            baseMilliseconds > 0 && capMilliseconds >= baseMilliseconds, "a back-off grows from its base")
        self.baseMilliseconds = baseMilliseconds
        self.capMilliseconds = capMilliseconds
        self.stableMilliseconds = stableMilliseconds
        ceiling = baseMilliseconds
    }

    /// Starts again from the base delay.
    public mutating func reset() { ceiling = baseMilliseconds }

    /// Milliseconds to wait before the next attempt.
    ///
    /// - Parameters:
    ///   - upMilliseconds: how long the last connection was accepted by the relay; 0 if it never was.
    ///   - retryAfterMilliseconds: the delay that the relay's goodbye asked for, or 0. It is the minimum, to which
    ///     the jitter is added; ``Notifications/Limits/retryAfterMilliseconds`` bounds it.
    ///   - random: 64 random bits.
    public mutating func delayMilliseconds(
        afterLinkUp upMilliseconds: Int,
        retryAfterMilliseconds: UInt32,
        random: UInt64
    ) -> Int {
        if upMilliseconds >= stableMilliseconds { ceiling = baseMilliseconds }
        let jitter = Int(random.multipliedFullWidth(by: UInt64(ceiling) + 1).high)
        ceiling = min(ceiling * 2, capMilliseconds)
        return min(Int(retryAfterMilliseconds), Limits.retryAfterMilliseconds) + jitter
    }
}
