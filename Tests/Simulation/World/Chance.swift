import Notifications

@testable import Relay

/// The one source of chance of a run: the same seed, the same run (SplitMix64).
final class Chance: RandomNumberGenerator, RandomSource {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }

    func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) } }

    /// A number of a range.
    func number(_ range: ClosedRange<Int>) -> Int {
        range.lowerBound + Int(next() % UInt64(range.count))
    }

    /// True once in so many times.
    func once(in times: Int) -> Bool { number(1...times) == 1 }

    /// One of these; nil where there are none.
    func pick<Choices: RandomAccessCollection>(_ choices: Choices) -> Choices.Element? {
        guard !choices.isEmpty else { return nil }
        return choices[choices.index(choices.startIndex, offsetBy: number(0...choices.count - 1))]
    }
}
