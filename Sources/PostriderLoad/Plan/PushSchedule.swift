/// Says when pushes at a fixed rate are due, whatever becomes of those before them: an open loop. Latencies count from
/// these moments, so that a server that makes its clients wait cannot hide it ("coordinated omission").
///
/// Pure: moments are nanoseconds of any clock.
struct PushSchedule: Sendable, Equatable {
    /// When the first push is due.
    let start: UInt64
    /// The rate in thousandths of a push a second, so that it may be below one.
    private let milliHertz: UInt64
    /// How many pushes were taken so far.
    private(set) var taken: UInt64 = 0

    /// A schedule with this rate, which begins at `start`.
    init(start: UInt64, perSecond: Double) {
        precondition(perSecond > 0, "a rate is above 0")
        self.start = start
        milliHertz = max(1, UInt64((perSecond * 1000).rounded()))
    }

    /// When the next push is due.
    var next: UInt64 { moment(of: taken) }

    /// When a push is due, by its number from 0. It is computed from the number alone, so that no rounding error adds
    /// up.
    func moment(of number: UInt64) -> UInt64 {
        let product = number.multipliedFullWidth(by: 1_000_000_000_000)
        return start + milliHertz.dividingFullWidth(product).quotient
    }

    /// Takes the next push if it is due, and returns the moment at which it was.
    mutating func take(at now: UInt64) -> UInt64? {
        let moment = next
        guard moment <= now else { return nil }
        taken += 1
        return moment
    }

    /// How many pushes are due by a moment, including those that were taken.
    func due(by now: UInt64) -> UInt64 {
        guard now >= start else { return 0 }
        let product = (now - start).multipliedFullWidth(by: milliHertz)
        return UInt64(1_000_000_000_000).dividingFullWidth(product).quotient + 1
    }
}
