import Testing

/// `make simulate` runs more.
@Suite("The relay under a seed")
struct SimulationTests {
    /// Seeds enough for a million events.
    private static let seeds: ClosedRange<UInt64> = 1...44

    @Test("loses no promise, repeats none, keeps the order and its bounds, and answers everybody once")
    func world() async throws {
        let events = try await withThrowingTaskGroup(of: Int.self) { group in
            for seed in Self.seeds {
                group.addTask {
                    let run = try Run(seed: seed)
                    #expect(run.findings.isEmpty, "seed \(seed): \(run.summary)")
                    return run.events
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(events >= 1_000_000)
    }

    @Test("is well with every seed that has found something", arguments: KeptSeed.all)
    func kept(_ kept: KeptSeed) throws {
        let run = try Run(seed: kept.seed)
        #expect(run.findings.isEmpty, "seed \(kept.seed): \(run.summary)")
    }
}
