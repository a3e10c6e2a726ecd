import PostriderChannels
import PostriderCluster
import PostriderNotifications
import PostriderStorage

@testable import PostriderRelay

// What a node asks of the database.
extension FixtureNode {
    func ask(_ request: MembershipRequest) {
        guard !isCut else {
            return events.append(
                .answered(.failed, StoreError(.unreachable, "The database does not answer.")))
        }
        let (answer, failure) = member.answer(request)
        guard !isDeaf else {
            return events.append(.answered(.failed, StoreError(.unreachable, "The answer is lost.")))
        }
        if case .joined(true) = answer { openLedger() }
        events.append(.answered(answer, failure))
    }

    private func openLedger() {
        let store = FixtureStore(
            of: member, fixture.fault, on: fixture.database.disk,
            isCut: { [unowned self] in isCut }, isDeaf: { [unowned self] in isDeaf })
        ledger = Ledger(
            store: store, shardCount: shards.count, log: .none,
            post: { [unowned self] in mail[$1].append($0) }, copy: { _, _ in },
            rest: { [unowned self] in
                ledgerRestsUntil = fixture.clock.now + UInt64($0) * 1_000_000
            },
            time: LedgerTime(now: { [clock = fixture.clock] in clock.now }, alarm: { _ in }, arrived: { 0 }),
            gather: GroupCommitPolicy(least: .max),
            take: { [unowned self] in take($0, above: $1, from: store) }, onClosed: {})
    }

    private func take(_ partitions: Set<Partition>, above row: QueueRow, from store: FixtureStore) {
        do throws(StoreError) {
            let loaded = try LoadedStore(store, partitions, shards: shards.count)
            if fixture.fault != .fallingRows { rows.rise(above: max(row, loaded.lastRow)) }
            if rows.draw() <= loaded.lastRow {
                note(.rows, "\(name) takes rows over that are above its own")
            }
            for _ in 0..<(fixture.fault == .twiceTaken ? 2 : 1) {
                for index in mail.indices { mail[index].append(.registry(.taken(loaded))) }
            }
            events.append(.taken(partitions))
        } catch {
            events.append(.notTaken(partitions, error))
        }
    }
}
