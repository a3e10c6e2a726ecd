/// How far the clocks of a time zone are ahead of Greenwich, at every moment. All times are in seconds.
///
/// The rules come from the machine's own time zone files, which its distribution keeps up to date, or from a name such
/// as "GMT+0200".
public struct ZoneRules: Sendable, Equatable {
    /// The name of the zone, such as "Europe/Berlin".
    public let identifier: String
    /// The moments at which the offset changes, in ascending order, and the offset from each of them on.
    private let transitions: [Transition]
    /// The offset before the first transition.
    private let firstOffset: Int
    /// What holds after the last transition.
    private let lastRule: PosixZone?

    struct Transition: Sendable, Equatable {
        let moment: Int
        let offset: Int
    }

    init(
        _ identifier: String, firstOffset: Int, transitions: [Transition] = [], lastRule: PosixZone? = nil
    ) {
        self.identifier = identifier
        self.firstOffset = firstOffset
        self.transitions = transitions
        self.lastRule = lastRule
    }

    /// A zone whose clocks are never put forward or back.
    public init(_ identifier: String, offset: Int) {
        self.init(identifier, firstOffset: offset)
    }

    /// Greenwich's time.
    public static let gmt = ZoneRules("GMT", offset: 0)

    /// How far the clocks are ahead of Greenwich.
    ///
    /// - Parameter moment: seconds since 1970-01-01 00:00 UTC.
    func offset(at moment: Int) -> Int {
        guard let last = transitions.last else { return lastRule?.offset(at: moment) ?? firstOffset }
        if moment >= last.moment { return lastRule?.offset(at: moment) ?? last.offset }
        // Halving finds the first transition that lies behind the moment.
        var (low, high) = (0, transitions.count - 1)
        while low < high {
            let middle = (low + high) / 2
            if transitions[middle].moment > moment { high = middle } else { low = middle + 1 }
        }
        return low == 0 ? firstOffset : transitions[low - 1].offset
    }
}
