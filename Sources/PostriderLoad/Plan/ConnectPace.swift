/// When connections may begin of which there are so many a second at most: what was not used in a pause is not made up
/// for, but for the little that timers are late.
///
/// Pure: moments are nanoseconds of any clock.
struct ConnectPace: Sendable, Equatable {
    /// From here on the next one may begin.
    private(set) var next: UInt64 = 0
    private let interval: UInt64

    private static let slackNanoseconds: UInt64 = 10_000_000

    /// So many a second at most.
    init(perSecond: Double) {
        precondition(perSecond > 0, "a rate is above 0")
        interval = UInt64(1_000_000_000 / perSecond)
    }

    /// Whether one may begin now: then it has.
    mutating func take(at now: UInt64) -> Bool {
        guard next <= now else { return false }
        next = max(next, now - min(now, Self.slackNanoseconds)) + interval
        return true
    }
}
