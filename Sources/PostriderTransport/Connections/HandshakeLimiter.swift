/// Limits how many TLS handshakes one loop has under way.
///
/// When thousands of clients connect at once, handshakes get a part of each turn. No more are begun than can end
/// before their clients give up, as computed from the measured cost of handshakes. All others are closed at once,
/// which costs next to nothing, and their clients return after their back-off.
///
/// A limiter belongs to one loop. It reads no clock: the loop tells it the time spent.
public final class HandshakeLimiter {
    /// The time within which a handshake that begins now should end, in nanoseconds.
    private let horizon: UInt64
    private let least: Int
    /// The time spent on handshakes since one last ended, in nanoseconds.
    private var spentSince: UInt64 = 0
    /// The average cost of a handshake in nanoseconds, including accept. It is a moving average with weight 1/16.
    private(set) var usualCost: UInt64 = 1_000_000
    /// The number of handshakes under way.
    public private(set) var underWay = 0

    /// - Parameters:
    ///   - horizonMilliseconds: the time within which a handshake should end.
    ///   - least: the number of handshakes that may always be under way, whatever they cost.
    public init(horizonMilliseconds: Int, least: Int) {
        precondition(horizonMilliseconds > 0 && least > 0, "a pace goes on")
        horizon = UInt64(horizonMilliseconds) * 1_000_000
        self.least = least
    }

    /// Whether another handshake may begin. On average, handshakes may use half of the loop's time.
    var mayBegin: Bool { underWay < max(least, Int(horizon / 2 / usualCost)) }

    /// Adds the duration of one step of a handshake, in nanoseconds.
    func spend(_ nanoseconds: UInt64) { spentSince += nanoseconds }

    /// Counts a handshake that begins.
    func began() { underWay += 1 }

    /// Counts a handshake that has ended or failed.
    func ended() {
        precondition(underWay > 0, "what ends has begun")
        underWay -= 1
        // On average as many handshakes begin as end. When many begin at once, the first to end is charged for the
        // steps of all, which errs on the safe side and is soon averaged out.
        usualCost = max(usualCost - usualCost / 16 + spentSince / 16, 1)
        spentSince = 0
    }
}
