import PostriderNotifications
import PostriderSeededRandom

@testable import PostriderRelay

/// The only source of random numbers of a run: the same seed gives the same run.
final class Chance: RandomNumberGenerator, RandomSource {
    private var numbers: SplitMix64

    init(seed: UInt64) { numbers = SplitMix64(seed: seed) }

    func next() -> UInt64 { numbers.next() }

    func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) } }

    /// Returns a number of the range.
    func number(_ range: ClosedRange<Int>) -> Int {
        range.lowerBound + Int(next() % UInt64(range.count))
    }

    /// Returns true in one of so many cases.
    func once(in times: Int) -> Bool { number(1...times) == 1 }

    /// Returns one of these elements; nil if there are none.
    func pick<Choices: RandomAccessCollection>(_ choices: Choices) -> Choices.Element? {
        guard !choices.isEmpty else { return nil }
        return choices[choices.index(choices.startIndex, offsetBy: number(0...choices.count - 1))]
    }
}
