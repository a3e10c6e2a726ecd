/// The offset of a time zone from UTC at every moment. All times are in seconds.
///
/// The rules come from the machine's own time zone files, which its distribution updates, or from a name such as
/// "GMT+0200".
public struct ZoneRules: Sendable, Equatable {
    /// The name of the zone, such as "Europe/Berlin".
    public let identifier: String
    /// The moments at which the offset changes, in ascending order, with the new offset.
    private let transitions: [Transition]
    /// The offset before the first transition.
    private let firstOffset: Int
    /// The rule after the last transition; nil if the offset stays the same.
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

    /// Creates a zone with a constant offset.
    public init(_ identifier: String, offset: Int) {
        self.init(identifier, firstOffset: offset)
    }

    /// Greenwich Mean Time.
    public static let gmt = ZoneRules("GMT", offset: 0)

    /// The offset from UTC.
    ///
    /// - Parameter moment: seconds since 1970-01-01 00:00 UTC.
    func offset(at moment: Int) -> Int {
        guard let last = transitions.last else { return lastRule?.offset(at: moment) ?? firstOffset }
        if moment >= last.moment { return lastRule?.offset(at: moment) ?? last.offset }
        // A binary search finds the first transition after the moment.
        var (low, high) = (0, transitions.count - 1)
        while low < high {
            let middle = (low + high) / 2
            if transitions[middle].moment > moment { high = middle } else { low = middle + 1 }
        }
        return low == 0 ? firstOffset : transitions[low - 1].offset
    }
}
