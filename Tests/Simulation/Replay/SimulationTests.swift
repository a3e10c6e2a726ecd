import Testing

/// Runs one world at a time: each occupies a thread for seconds, and all tests share a few threads.
@Suite("Simulation", .serialized)
struct Simulation {}

extension Simulation {
    /// Runs a fixed range of seeds; `make simulate` runs more.
    @Suite("The relay under a seed")
    struct SimulationTests {
        /// Enough seeds for a million events.
        private static let seeds: ClosedRange<UInt64> = 1...44

        @Test("loses no promise, repeats none, keeps the order and its bounds, and answers everybody once")
        func world() async throws {
            var (events, deferrals) = (0, 0)
            for seed in Self.seeds {
                let run = try Run(seed: seed)
                #expect(run.findings.isEmpty, "seed \(seed): \(run.summary)")
                events += run.events
                deferrals += run.deferrals
                // A seed takes seconds, and other tests need the thread in between.
                await Task.yield()
            }
            #expect(events >= 1_000_000 && deferrals > 0)
        }

        @Test("is well with every seed that has found something", arguments: KeptSeed.all)
        func kept(_ kept: KeptSeed) throws {
            let run = try Run(seed: kept.seed)
            #expect(run.findings.isEmpty, "seed \(kept.seed): \(run.summary)")
        }
    }
}
