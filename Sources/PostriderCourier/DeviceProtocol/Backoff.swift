import PostriderNotifications

/// Decides when a device reconnects: exponential back-off with full jitter, so that not all devices return to a relay
/// at once. It also applies after a connection that was closed in order.
public struct Backoff: Sendable {
    private let baseMilliseconds: Int
    private let capMilliseconds: Int
    private let stableMilliseconds: Int
    private let acceptedCapMilliseconds: Int
    private var ceiling: Int

    /// Creates a back-off. The delay is at most `baseMilliseconds` after the first failure, and twice as long after
    /// each further one, up to `capMilliseconds`. It starts again from the base after a connection that was up for
    /// `stableMilliseconds`.
    ///
    /// - Parameter acceptedCapMilliseconds: the most milliseconds after a connection that was accepted at all, however
    ///   short it was; nil for no other bound than `capMilliseconds`.
    public init(
        baseMilliseconds: Int = 500, capMilliseconds: Int = 60_000, stableMilliseconds: Int = 30_000,
        acceptedCapMilliseconds: Int? = nil
    ) {
        precondition(
            baseMilliseconds > 0 && capMilliseconds >= baseMilliseconds, "a back-off grows from its base")
        self.baseMilliseconds = baseMilliseconds
        self.capMilliseconds = capMilliseconds
        self.stableMilliseconds = stableMilliseconds
        self.acceptedCapMilliseconds = acceptedCapMilliseconds ?? capMilliseconds
        ceiling = baseMilliseconds
    }

    /// The back-off of a device, whose relay accepts no more devices at a time than it can serve: a link that is cut
    /// again and again is not away for longer and longer.
    public static let device = Backoff(acceptedCapMilliseconds: 5_000)

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
        if upMilliseconds > 0 { ceiling = min(ceiling, acceptedCapMilliseconds) }
        let jitter = Int(random.multipliedFullWidth(by: UInt64(ceiling) + 1).high)
        ceiling = min(ceiling * 2, capMilliseconds)
        return min(Int(retryAfterMilliseconds), Limits.retryAfterMilliseconds) + jitter
    }
}
