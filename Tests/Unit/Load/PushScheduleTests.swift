import Testing

@testable import PostriderLoad

@Suite("A schedule of pushes")
struct PushScheduleTests {
    @Test(
        "puts every push at its moment, without a sum of errors",
        arguments: [
            (2000.0, 1, 500_000), (2000, 2_000_000, 1_000_000_000_000), (3, 1, 333_333_333),
            (3, 3, 1_000_000_000),
            (0.5, 10, 20_000_000_000), (1_000_000, 86_400_000_000, 86_400_000_000_000),
            (333.333, 1000, 3_000_003_000),
        ] as [(Double, UInt64, UInt64)])
    func moments(_ rate: Double, _ number: UInt64, _ moment: UInt64) {
        let schedule = PushSchedule(start: 70, perSecond: rate)
        #expect(schedule.moment(of: 0) == 70)
        #expect(schedule.moment(of: number) == 70 + moment)
    }

    @Test("gives out what is due, at the moments at which it was due, and nothing else")
    func taking() {
        var schedule = PushSchedule(start: 1000, perSecond: 1_000_000)
        let early = schedule.take(at: 999)
        #expect(early == nil)
        #expect(schedule.due(by: 999) == 0)
        #expect(schedule.due(by: 1000) == 1)
        #expect(schedule.due(by: 3500) == 3)
        // The pushes are late, but their scheduled times are unchanged.
        let taken = (0..<4).map { _ in schedule.take(at: 3500) }
        #expect(taken == [1000, 2000, 3000, nil])
        #expect(schedule.next == 4000)
        #expect(schedule.taken == 3)
    }
}
