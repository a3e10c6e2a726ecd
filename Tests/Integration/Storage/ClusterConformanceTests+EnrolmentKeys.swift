import Dispatch
import PostriderCluster
import PostriderNotifications
import PostriderPostgres
import Synchronization
import Testing

extension ClusterConformanceTests {
    @Test("The uses of an enrolment key are those at all nodes together", arguments: Engine.fenced)
    func enrolmentKeyUses(_ engine: Engine) throws {
        let fixture = try ClusterFixture(engine)
        let members = try [("a", 1), ("b", 2), ("c", 3)].map { try fixture.member($0, claiming: [$1]) }
        let ledgers = try members.map { try fixture.ledger(of: $0) }
        try ledgers[0].apply([enrolmentKey(uses: 2)])
        let before = try members[0].look().registryVersion
        try ledgers[1].apply(enrolment(in: 2))
        try ledgers[2].apply(enrolment(in: 3))
        let error = #expect(throws: StoreError.self) { try ledgers[0].apply(enrolment(in: 1)) }
        #expect(error?.kind == .usedUp, "\(String(describing: error))")
        // Other nodes read the count again.
        #expect(try members[0].look().registryVersion == before + 2)
        for ledger in ledgers { #expect(try ledger.loadRegistry().enrolmentKeys.map(\.used) == [2]) }
        // The store goes on.
        try ledgers[0].apply([enrolmentKey(2, uses: 1)])
        try ledgers[0].apply(enrolment(in: 1, with: 2))
        let misplaced = #expect(throws: StoreError.self) { try ledgers[0].apply(enrolment(in: 2, 7)) }
        #expect(misplaced?.kind == .misplaced)
    }

    @Test("Of nodes that use an enrolment key at the same time, as many have a use as there are")
    func enrolmentKeyRace() throws {
        let fixture = try ClusterFixture(.postgres)
        let claims = try [("a", 1), ("b", 2), ("c", 3)].map { try fixture.member($0, claiming: [$1]).claim }
        let address = try fixture.place()
        let first = try PostgresPartitionStore(address, of: claims[0], acceptsLosses: true, log: .none)
        try first.apply([enrolmentKey(uses: 5)])
        let answers = Mutex<[StoreError.Kind?]>([])
        DispatchQueue.concurrentPerform(iterations: claims.count) { index in
            let store = try? PostgresPartitionStore(
                address, of: claims[index], acceptsLosses: true, log: .none)
            for number in 0..<4 as Range<UInt64> {
                store?.apply(enrolment(in: index + 1, number)) { result in
                    let kind: StoreError.Kind? =
                        if case .failure(let error) = result { error.kind } else { nil }
                    answers.withLock { $0.append(kind) }
                }
            }
        }
        let kinds = answers.withLock { $0 }
        #expect(kinds.count { $0 == nil } == 5 && kinds.count { $0 == .usedUp } == 7, "\(kinds)")
        #expect(try first.loadRegistry().enrolmentKeys.map(\.used) == [5])
    }
}
