/// Decides when connections may begin if at most so many a second are allowed. What a pause leaves unused is not made
/// up for later, except for the little time by which timers are late.
///
/// Pure: moments are nanoseconds of any clock.
struct ConnectPace: Sendable, Equatable {
    /// The moment from which on the next connection may begin.
    private(set) var next: UInt64 = 0
    private let interval: UInt64

    private static let slackNanoseconds: UInt64 = 10_000_000

    /// Allows at most this many connections a second.
    init(perSecond: Double) {
        precondition(perSecond > 0, "a rate is above 0")
        interval = UInt64(1_000_000_000 / perSecond)
    }

    /// Whether a connection may begin now; if so, it counts as begun.
    mutating func take(at now: UInt64) -> Bool {
        guard next <= now else { return false }
        next = max(next, now - min(now, Self.slackNanoseconds)) + interval
        return true
    }
}
