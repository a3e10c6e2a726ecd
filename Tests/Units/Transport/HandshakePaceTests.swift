import Testing

@testable import Transport

@Suite("The pace of handshakes")
struct HandshakePaceTests {
    private let pace = HandshakePace(horizonMilliseconds: 2_000, least: 3)
    private static let millisecond: UInt64 = 1_000_000

    /// Handshakes begin and end; each costs the same. Answers how many may be under way then.
    private func run(costing nanoseconds: UInt64) -> Int {
        for _ in 0..<6_000 {
            pace.began()
            pace.spend(nanoseconds)
            pace.ended()
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
