/// How many TLS handshakes a loop may have under way.
///
/// When thousands return at once, they have a part of each turn. No more are begun than can be done before their
/// clients lose patience, by what handshakes have been seen to cost: the others are closed at once, which costs next to
/// nothing, and come back with their back-off.
///
/// It belongs to one loop. Pure: it is told what was spent.
public final class HandshakeLimiter {
    /// Nanoseconds within which a handshake that is begun now should be done.
    private let horizon: UInt64
    private let least: Int
    /// What was spent since a handshake was done last.
    private var spentSince: UInt64 = 0
    /// What one costs, accepting included: each that ends counts for a sixteenth. Nanoseconds.
    private(set) var usualCost: UInt64 = 1_000_000
    /// Handshakes that are under way.
    public private(set) var underWay = 0

    /// - Parameters:
    ///   - horizonMilliseconds: within which a handshake should be done.
    ///   - least: so many may be under way, whatever they cost.
    public init(horizonMilliseconds: Int, least: Int) {
        precondition(horizonMilliseconds > 0 && least > 0, "a pace goes on")
        horizon = UInt64(horizonMilliseconds) * 1_000_000
        self.least = least
    }

    /// Whether one more may begin. Handshakes have half of the loop's time in the long run.
    var mayBegin: Bool { underWay < max(least, Int(horizon / 2 / usualCost)) }

    /// A part of a handshake took so long. Nanoseconds.
    func spend(_ nanoseconds: UInt64) { spentSince += nanoseconds }

    /// A handshake has begun.
    func began() { underWay += 1 }

    /// A handshake is done, or has failed.
    func ended() {
        precondition(underWay > 0, "what ends has begun")
        underWay -= 1
        // In the long run as many begin as end. When many begin at once, the first to end is thought to have cost more
        // than it has, which is on the safe side and soon forgotten.
        usualCost = max(usualCost - usualCost / 16 + spentSince / 16, 1)
        spentSince = 0
    }
}
