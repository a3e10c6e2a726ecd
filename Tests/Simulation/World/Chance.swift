import PostriderNotifications
import PostriderSeededRandom

@testable import PostriderRelay

/// The one source of chance of a run: the same seed, the same run.
final class Chance: RandomNumberGenerator, RandomSource {
    private var numbers: SplitMix64

    init(seed: UInt64) { numbers = SplitMix64(seed: seed) }

    func next() -> UInt64 { numbers.next() }

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
