import Testing

@testable import PostriderLoad

@Suite("An expectation")
struct ExpectationTests {
    @Test(
        "is met or missed",
        arguments: [
            ("lost=0", true), ("lost==0", true), ("lost!=0", false), ("p99<5ms", true), ("p99<2ms", false),
            ("p99<=3ms", true), ("p99>=3000us", true), ("p99 < 3001 µs", true), ("p99=0.003s", true),
            ("accepted/s>100k", false), ("accepted/s>=1k", true), ("accepted=10000", true),
            ("accepted<0.02M", true),
            ("storm.accept.p99<2*before.accept.p99", true), ("storm.accept.p99<1.2*before.accept.p99", false),
            ("storm.accept.p99>before.accept.p99", true), ("before.accept.max<1s", true),
            ("KiB/connection<23KiB", true), ("KiB/connection<14", false), ("accepted/cpu-s>=5000", true),
            ("seconds<5s", false), ("seconds>=9999ms", true), ("seconds=10", true),
            ("p99>1e300*before.p99", false),
        ])
    func verdicts(_ text: String, _ isMet: Bool) throws {
        let expectation = try #require(try Expectation.parse(text).first)
        #expect((expectation.miss(in: LoadMetrics(.sample)) == nil) == isMet, "\(text)")
    }

    @Test("that is missed says by how much, in one sentence")
    func sentences() throws {
        let metrics = LoadMetrics(.sample)
        let misses = try Expectation.parse(
            "p99<2ms,lost=0,accepted/s>100k,storm.accept.p99<1.2*before.accept.p99,x=1,seconds<5s"
        )
        .compactMap { $0.miss(in: metrics) }
        #expect(
            misses == [
                "Expected p99<2ms, but p99 is 3 ms.",
                "Expected accepted/s>100k, but accepted/s is 1,000.",
                "Expected storm.accept.p99<1.2*before.accept.p99, but storm.accept.p99 is 3 ms, and that is "
                    + "2.4 ms.",
                "There is no figure x in this run to expect x=1 of.",
                "Expected seconds<5s, but seconds is 10 s.",
            ])
    }

    @Test(
        "that no run of its plan can meet is told before the run",
        arguments: [
            ("p99<5ms", true), ("p98<5ms", false), ("warm-up.accept.max<2*push.accept.p50", true),
            ("storm.p99<5ms", false), ("p99<2*calm.p99", false),
            ("KiB/connection<20,leak<1,busy<0.9,stolen<0.01", true),
            ("lost<5ms", false), ("seconds<5s", true), ("accepted/s>1k,lost=0,delivered/cpu-s>1", true),
        ])
    func before(_ text: String, _ isPossible: Bool) throws {
        let plan = LoadScenario.push.plan(LoadScenario.Settings())
        let expectations = try Expectation.parse(text)
        #expect(((try? expectations.forEach { try $0.check(for: plan) }) != nil) == isPossible, "\(text)")
    }

    @Test(
        "that cannot be understood is told as it was written",
        arguments: [
            "", "p99", "p99<", "<5ms", "p99<5 parsecs", "p99~5", "p99<>5", "lost=0,", "p99<2*", "p99<-1",
            "p99<1*2*3", "p99<inf*max", "p99<nan*max",
        ])
    func mistakes(_ text: String) {
        #expect(throws: Expectation.Mistake.self) { try Expectation.parse(text) }
    }

    @Test(
        "tells figures as people read them",
        arguments: [
            (LoadMetrics.Unit.microseconds, 99.94, "99.9 µs"), (.microseconds, 1234, "1.23 ms"),
            (.microseconds, 2_500_000, "2.5 s"), (.count, 1_234_567, "1,234,567"), (.count, 100, "100"),
            (.perSecond, 999_999.6, "1,000,000"), (.kibibytes, 14.52, "14.5 KiB"), (.ratio, 0.333, "0.33"),
            (.count, -1234, "-1,234"), (.seconds, 10, "10 s"), (.ratio, 1e300, "1e+300"),
        ])
    func figures(_ unit: LoadMetrics.Unit, _ value: Double, _ text: String) {
        #expect(unit.text(value) == text)
    }
}

extension LoadResult {
    /// The result of a storm: 10,000 pushes in 10 seconds in each phase.
    static var sample: LoadResult {
        func phase(_ name: String, p99: Double) -> Phase {
            var record = PhaseRecord()
            record.nanoseconds = 10_000_000_000
            record.tally.sent = 10_000
            record.tally.accepted = 10_000
            record.tally.delivered = 9000
            record.tally.connections = 100
            for number in 0..<10_000 {
                record.acceptance.record(number < 9850 ? 100_000 : UInt64(p99 * 1000))
            }
            var phase = Phase(
                name: name, record, backlog: 0,
                server: Server(
                    userSeconds: 1, systemSeconds: 1, idlePSSKiB: 10_000, pssKiB: 12_000, connections: 100),
                ownCPUSeconds: 1, stolenSeconds: nil)
            phase.acceptance?.p99 = p99
            return phase
        }
        return LoadResult(
            scenario: "storm", startedAt: 0, machine: Machine(cores: 2, processor: "x", kernel: "y"),
            devices: 100,
            apps: 1, providers: 1, streams: 1, threads: 1, processors: 1, mainPhase: "storm",
            phases: [phase("before", p99: 2000), phase("storm", p99: 3000)],
            verdict: Verdict(lost: 0, doubled: 0, repeated: 0, strayed: 0, altered: 0, lostIdentities: []),
            timeline: [])
    }
}
