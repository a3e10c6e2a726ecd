import Foundation
import Testing

@Suite("Nodes with their devices under one seed")
struct NodesWorldTests {
    /// `POSTRIDER_NODES_SEEDS` is the number of seeds, if others than the usual ones are wanted.
    private static let seeds: ClosedRange<UInt64> =
        1...(ProcessInfo.processInfo.environment["POSTRIDER_NODES_SEEDS"].flatMap(UInt64.init) ?? 20)

    @Test("lose nothing, keep the order of each device, and come to rest")
    func seeds() throws {
        var (accepted, moved, passages, broadcasts, receipts) = (0, 0 as UInt64, 0, 0, 0)
        for seed in Self.seeds {
            let world = NodesWorld(seed: seed)
            try world.run()
            #expect(world.finding == nil, "seed \(seed): \(world.finding?.description ?? "")")
            accepted += world.accepted
            moved += world.moved
            passages += world.passages
            broadcasts += world.channels.accepted
            receipts += world.pushes.count { $0.promise != nil }
        }
        // The events have had an effect.
        #expect(accepted > 100 * Self.seeds.count && moved > UInt64(Self.seeds.count))
        #expect(passages > 10 * Self.seeds.count && broadcasts > 5 * Self.seeds.count)
        #expect(receipts > 10 * Self.seeds.count)
    }

    @Test("answer every push with 200 while one after the other is drained, ended and started again")
    func upgrades() throws {
        var moved: UInt64 = 0
        for seed in Self.seeds {
            let world = NodesWorld(seed: seed)
            try world.upgrade()
            #expect(world.finding == nil, "seed \(seed): \(world.finding?.description ?? "")")
            #expect(world.accepted > 100)
            moved += world.moved
        }
        #expect(moved > UInt64(Self.seeds.count))
    }

    @Test(
        "are seen not to do so if somebody builds a fault into them that concerns moves in order",
        arguments: [
            (NodesFault.impatience, [NodesWorld.Checker.calm, .order]), (.hastyRecall, [.calm, .order]),
            (.lastingRows, [.order, .rest]), (.lostSubscriptions, [.broadcasts]),
        ])
    func faultsOfMoves(_ fault: NodesFault, _ checkers: [NodesWorld.Checker]) throws {
        try find(fault, checkers) { try $0.upgrade() }
    }

    @Test(
        "are seen not to do so if somebody builds a fault into them",
        arguments: [
            (NodesFault.missingFence, [NodesWorld.Checker.delivery, .order]),
            (.fallingRows, [.rows, .answers]),
            (.endlessService, [.ownership, .answers]), (.hastyRelease, [.ownership, .delivery, .order]),
            (.lastingLinks, [.homes]), (.twiceTaken, [.balance]),
            (.lostReceipts, [.receipts]),
            (.lostWebSubscriptions, [.answers]), (.lostChannels, [.channels]),
            (.lostBroadcasts, [.broadcasts]), (.lastingChannels, [.channels]),
        ])
    func faults(_ fault: NodesFault, _ checkers: [NodesWorld.Checker]) throws {
        try find(fault, checkers) { try $0.run() }
    }

    private func find(
        _ fault: NodesFault, _ checkers: [NodesWorld.Checker], _ run: (NodesWorld) throws -> Void
    ) throws {
        for seed in 1...120 as ClosedRange<UInt64> {
            let world = NodesWorld(seed: seed, fault: fault)
            try run(world)
            guard let finding = world.finding else { continue }
            #expect(checkers.contains(finding.checker), "\(fault), seed \(seed): \(finding)")
            return
        }
        Issue.record("\(fault) goes unnoticed")
    }
}
