/// How much of a loop's time TLS handshakes may take, and how many may be under way.
///
/// When thousands return at once their handshakes would keep everybody else on the loop waiting for seconds. So in
/// each turn they get a budget of time; what is over stays with the kernel until the next turn, when those whose
/// handshake is done have had theirs. The ends of connections are paid from the same budget: thousands may be cut at
/// once, too. And no more are begun than can be done before their clients lose patience, by
/// what handshakes have been seen to cost: the others are closed at once, which costs next to nothing, and come back
/// with their back-off.
///
/// It belongs to one loop. Pure: it is told the turn and what was spent.
public final class HandshakePace {
    /// Microseconds of each turn for handshakes and ends. One that has begun is not interrupted.
    public var budgetMicroseconds: Int {
        didSet { precondition(budgetMicroseconds > 0, "a pace goes on") }
    }
    /// Nanoseconds within which a handshake that is begun now should be done.
    private let horizon: UInt64
    private let least: Int
    private var turn: UInt64 = 0
    private var spent: UInt64 = 0
    /// What was spent since a handshake was done last.
    private var spentSince: UInt64 = 0
    /// What one costs, accepting included: each that ends counts for a sixteenth. Nanoseconds.
    private(set) var usualCost: UInt64 = 1_000_000
    /// Handshakes that are under way.
    public private(set) var underWay = 0

    /// - Parameters:
    ///   - budgetMicroseconds: of each turn.
    ///   - horizonMilliseconds: within which a handshake should be done.
    ///   - least: so many may be under way, whatever they cost.
    public init(budgetMicroseconds: Int, horizonMilliseconds: Int, least: Int) {
        precondition(budgetMicroseconds > 0 && horizonMilliseconds > 0 && least > 0, "a pace goes on")
        self.budgetMicroseconds = budgetMicroseconds
        horizon = UInt64(horizonMilliseconds) * 1_000_000
        self.least = least
    }

    /// Whether one more may begin. Handshakes have half of the loop's time in the long run.
    var mayBegin: Bool { underWay < max(least, Int(horizon / 2 / usualCost)) }

    /// Whether there is time for handshakes left in a turn.
    func hasTime(in turn: UInt64) -> Bool { turn != self.turn || spent < UInt64(budgetMicroseconds) * 1000 }

    /// A handshake, or the end of a connection, took so much of a turn. Nanoseconds.
    func spend(_ nanoseconds: UInt64, in turn: UInt64, isHandshake: Bool = true) {
        if turn != self.turn { (self.turn, spent) = (turn, 0) }
        spent += nanoseconds
        if isHandshake { spentSince += nanoseconds }
    }

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
