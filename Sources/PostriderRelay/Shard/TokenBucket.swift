/// How much somebody may do in a time, and at once: a token bucket, stored as the moment at which it is full again.
struct TokenBucket {
    private let rate: (perSecond: Int, atOnce: Int)
    private var fullAt: UInt64 = 0

    /// A bucket that is full.
    init(_ rate: (perSecond: Int, atOnce: Int)) { self.rate = rate }

    /// Takes so many; false, and takes nothing, if there are fewer in it.
    ///
    /// - Parameter now: monotonic nanoseconds.
    mutating func takes(_ count: Int = 1, now: UInt64) -> Bool {
        let next = max(fullAt, now) + time(for: count)
        guard next <= now + time(for: rate.atOnce) else { return false }
        fullAt = next
        return true
    }

    /// The nanoseconds in which so many are added.
    private func time(for count: Int) -> UInt64 { UInt64(count) * 1_000_000_000 / UInt64(rate.perSecond) }
}
