import Testing

@testable import Transport

@Suite("The pace of handshakes")
struct HandshakePaceTests {
    private let pace = HandshakePace(budgetMicroseconds: 4, horizonMilliseconds: 2_000, least: 3)
    private static let millisecond: UInt64 = 1_000_000

    @Test("each turn has its budget, and what has begun is finished")
    func budget() {
        let turns: [(turn: UInt64, spent: UInt64, hasTime: Bool)] = [
            (1, 3_999, true), (1, 1, false), (1, 0, false), (2, 0, true), (2, 9_000, false), (3, 0, true),
        ]
        for (turn, spent, hasTime) in turns {
            pace.spend(spent, in: turn)
            #expect(pace.hasTime(in: turn) == hasTime, "turn \(turn)")
        }
        #expect(pace.hasTime(in: 4))
    }

    /// Handshakes begin and end, three in a turn; each costs the same. Answers how many may be under way then.
    private func run(costing nanoseconds: UInt64) -> Int {
        for turn in 1...2_000 as ClosedRange<UInt64> {
            for _ in 0..<3 {
                pace.began()
                pace.spend(nanoseconds, in: turn)
                pace.ended()
            }
        }
        let spare = pace.underWay
        var count = 0
        while pace.mayBegin {
            pace.began()
            count += 1
        }
        return spare + count
    }

    @Test(
        "as many may be under way as end within the horizon in half of the time, by what they cost",
        arguments: [(1, 1000), (10, 100), (2_000, 3)] as [(UInt64, Int)])
    func capacity(_ milliseconds: UInt64, _ expected: Int) {
        #expect(abs(run(costing: milliseconds * Self.millisecond) - expected) <= expected / 10)
    }
}
