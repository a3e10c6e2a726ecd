import PostriderTransport

/// How long a provider's connection has had no request, and when that is checked.
struct ProviderIdleness {
    private var timer: (any LoopTimer)?
    private var lastRequestAt: UInt64

    /// The longest interval between two checks.
    private static let checkMilliseconds = 10 * 60 * 1000

    /// - Parameter now: nanoseconds of the shard's clock.
    init(since now: UInt64) { lastRequestAt = now }

    /// The connection is open.
    ///
    /// - Parameters:
    ///   - timer: has the connection call ``isOver(at:afterMilliseconds:hasRequests:)``.
    ///   - interval: after which time it is checked first, at the latest.
    mutating func begin(_ timer: any LoopTimer, afterMilliseconds interval: Int) {
        self.timer = timer
        check(afterMilliseconds: interval)
    }

    /// The connection has ended.
    mutating func end() { timer = nil }

    /// A request has begun.
    mutating func requestBegan(at now: UInt64) { lastRequestAt = now }

    /// Has the connection checked after this time at the latest.
    func check(afterMilliseconds interval: Int) {
        timer?.arm(afterMilliseconds: min(interval, Self.checkMilliseconds))
    }

    /// Whether the connection has been idle for as long as it may. If not, it is checked again later.
    func isOver(at now: UInt64, afterMilliseconds bound: Int, hasRequests: Bool) -> Bool {
        let idleMilliseconds = Int((now - lastRequestAt) / 1_000_000)
        guard idleMilliseconds >= bound, !hasRequests else {
            check(afterMilliseconds: max(1000, bound - idleMilliseconds))
            return false
        }
        return true
    }
}
