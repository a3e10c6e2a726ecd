import Testing

@Suite("Nodes of a cluster under one seed")
struct ClusterWorldTests {
    @Test("never serve a partition of another one, and come to rest", arguments: 1...12)
    func seeds(_ part: UInt64) {
        var moves = 0
        for seed in part * 8..<(part + 1) * 8 {
            let world = ClusterWorld(seed: seed)
            world.run()
            moves += world.moves
            guard let finding = world.finding else { continue }
            #expect(world.finding == nil, "seed \(seed): \(finding)")
            return
        }
        // The faults have had an effect.
        #expect(moves > 8 * 100)
    }

    @Test(
        "are seen to do so, or not to, if somebody builds a fault into them",
        arguments: [
            (ClusterFault.impatience, ClusterChecker.ownership), (.blindness, .ownership),
            (.repetition, .ownership), (.stoppedClock, .ownership), (.haste, .ownership),
            (.missingFence, .fence), (.patience, .rest),
        ])
    func faults(_ fault: ClusterFault, _ checker: ClusterChecker) {
        for seed in 1...300 as ClosedRange<UInt64> {
            let checkers: Set<ClusterChecker> =
                fault == .missingFence ? [checker] : Set(ClusterChecker.allCases)
            let world = ClusterWorld(seed: seed, fault: fault, checkers: checkers)
            world.run()
            guard let finding = world.finding else { continue }
            #expect(finding.checker == checker, "\(fault), seed \(seed): \(finding)")
            return
        }
        Issue.record("\(fault) goes unnoticed")
    }

    @Test("commit nothing for another one's devices, even if their clocks stand still")
    func stoppedClocks() {
        for seed in 1...40 as ClosedRange<UInt64> {
            let world = ClusterWorld(seed: seed, fault: .stoppedClock, checkers: [.fence])
            world.run()
            #expect(world.finding == nil, "seed \(seed)")
        }
    }
}
