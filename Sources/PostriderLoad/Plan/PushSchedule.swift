/// When pushes are due that come at a rate, whatever becomes of those before them: an open loop. Latencies count from
/// these moments, so that a server which makes its clients wait cannot hide it ("coordinated omission").
///
/// Pure: moments are nanoseconds of any clock.
struct PushSchedule: Sendable, Equatable {
    /// When the first is due.
    let start: UInt64
    /// How many a second, times 1000: rates below one a second are possible.
    private let milliHertz: UInt64
    /// How many were taken so far.
    private(set) var taken: UInt64 = 0

    /// From `start` on, so many a second.
    init(start: UInt64, perSecond: Double) {
        precondition(perSecond > 0, "a rate is above 0")
        self.start = start
        milliHertz = max(1, UInt64((perSecond * 1000).rounded()))
    }

    /// When the next one is due.
    var next: UInt64 { moment(of: taken) }

    /// When a push is due, by its number from 0: nothing adds up, however long it takes.
    func moment(of number: UInt64) -> UInt64 {
        let product = number.multipliedFullWidth(by: 1_000_000_000_000)
        return start + milliHertz.dividingFullWidth(product).quotient
    }

    /// Takes the next one if it is due, and answers the moment at which it was.
    mutating func take(at now: UInt64) -> UInt64? {
        let moment = next
        guard moment <= now else { return nil }
        taken += 1
        return moment
    }

    /// How many are due by a moment, those that were taken included.
    func due(by now: UInt64) -> UInt64 {
        guard now >= start else { return 0 }
        let product = (now - start).multipliedFullWidth(by: milliHertz)
        return UInt64(1_000_000_000_000).dividingFullWidth(product).quotient + 1
    }
}
