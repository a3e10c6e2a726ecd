import Testing

extension Simulation {
    @Suite("The observer of the simulation")
    struct FaultTests {
        /// The checkers that must report each fault, with one of the first seeds.
        private static let table: [(fault: DeliberateFault, checkers: Set<Checker>)] = [
            (.storeLies, [.loss, .messages]),
            (.diskForgets, [.loss, .messages]),
            (.diskKeeps, [.conservation, .order, .newest]),
            (.storeProlongs, [.expiration, .ended]),
            (.storeSeparates, [.newest, .conservation, .ended]),
            (.storePostdates, [.answers]),
            (.mailReorders, [.order]),
            (.mailLoses, [.rest]),
            (.wireReorders, [.conduct]),
            (.deviceDoubles, [.repetition]),
            (.deviceForgets, [.loss]),
            (.deviceConceals, [.wishes]),
            (.shardMiscounts, [.conservation]),
            (.relayKeepsAll, [.newest, .ended]),
            (.timersFail, [.rest]),
            (.clockLags, [.expiration, .answers, .ended]),
            (.boundsShrink, [.bounds]),
            (.channelsForget, [.channels]),
            (.storeDropsMessages, [.messages]),
            (.diskKeepsReceipts, [.receipts]),
            (.browserForgets, [.messages, .receipts]),
            (.browserLingers, [.ended]),
            (.senderConceals, [.ended]),
            (.senderProlongs, [.ended]),
        ]

        @Test("reports every fault that somebody builds into the world", arguments: table.indices)
        func reports(_ index: Int) throws {
            let (fault, checkers) = Self.table[index]
            for seed in 1...10 as ClosedRange<UInt64> {
                guard let finding = try Run(seed: seed, fault: fault).findings.first else { continue }
                #expect(checkers.contains(finding.checker), "\(fault), seed \(seed): \(finding)")
                return
            }
            Issue.record("\(fault) goes unnoticed")
        }

        @Test("has a fault for every checker, and every fault in its table")
        func coverage() {
            #expect(Set(Self.table.map(\.fault)) == Set(DeliberateFault.allCases))
            #expect(Self.table.reduce(into: Set()) { $0.formUnion($1.checkers) } == Set(Checker.allCases))
        }
    }
}
