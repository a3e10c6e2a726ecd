import PostriderNotifications

/// When a device tries again: exponential back-off with full jitter, so that a relay that returns is not met
/// by all its devices at once. It applies always, even after a clean close.
public struct Backoff: Sendable {
    private let baseMilliseconds: Int
    private let capMilliseconds: Int
    private let stableMilliseconds: Int
    private var ceiling: Int

    /// Waits of at most `baseMilliseconds` after the first failure, twice as long after each further one up
    /// to `capMilliseconds`, and as at first again after a link that was up for `stableMilliseconds`.
    public init(baseMilliseconds: Int = 500, capMilliseconds: Int = 60_000, stableMilliseconds: Int = 30_000)
    {
        precondition(
            baseMilliseconds > 0 && capMilliseconds >= baseMilliseconds, "a back-off grows from its base")
        self.baseMilliseconds = baseMilliseconds
        self.capMilliseconds = capMilliseconds
        self.stableMilliseconds = stableMilliseconds
        ceiling = baseMilliseconds
    }

    /// Begins anew with the base: what was waited for has come.
    public mutating func reset() { ceiling = baseMilliseconds }

    /// Milliseconds to wait before the next attempt.
    ///
    /// - Parameters:
    ///   - upMilliseconds: how long the last link was welcome; 0 where it never was.
    ///   - retryAfterMilliseconds: what the relay's goodbye asked for, 0 where there was none. It is the
    ///     floor, to which the jitter is added; ``Notifications/Limits/retryAfterMilliseconds`` bounds it.
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
