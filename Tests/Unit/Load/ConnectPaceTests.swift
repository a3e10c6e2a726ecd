import Testing

@testable import PostriderLoad

@Suite("The pace at which devices connect")
struct ConnectPaceTests {
    @Test("lets one begin in each part of a second, however often it is asked")
    func rate() {
        var pace = ConnectPace(perSecond: 400)
        let begun = (0..<10_000).count { pace.take(at: 5_000_000_000 + UInt64($0) * 100_000) }
        // A timer can be 10 ms late, and the pace makes up for that: four connections at this rate.
        #expect(begun == 400 + 4)
        #expect(pace.next > 5_999_000_000)
    }

    @Test("makes up for timers that are late, and not for a pause")
    func pauses() {
        var pace = ConnectPace(perSecond: 1000)
        func burst(at moment: UInt64) -> Int { (0..<100).count { _ in pace.take(at: moment) } }
        #expect(burst(at: 1_000_000_000) == 11)
        #expect(burst(at: 1_003_500_000) == 3)
        #expect(burst(at: 9_000_000_000) == 11)
    }
}
