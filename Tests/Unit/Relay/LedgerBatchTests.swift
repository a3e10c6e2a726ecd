import PostriderNotifications
import PostriderSeededRandom
import RelayFixtures
import Testing

@testable import PostriderRelay

@Suite("A ledger batch")
struct LedgerBatchTests {
    private func batch(_ messages: [LedgerCommand]) -> LedgerBatch {
        var batch = LedgerBatch()
        for message in messages { batch.add(message) }
        return batch
    }

    private func store(_ row: Int64) -> LedgerCommand {
        .store(
            QueuedNotification(row: QueueRow(row), notification: Samples.notification(UInt64(row))),
            postedAt: 0)
    }

    private func settle(_ row: Int64) -> LedgerCommand { .settle(QueueRow(row)) }

    private func enqueued(_ batch: LedgerBatch) -> [Int64] { batch.queue.enqueued.map(\.row.value) }

    @Test("forgets what is stored and settled in it, and settles what was stored before it")
    func annihilation() {
        let batch = batch([store(1), store(2), settle(1), settle(9)])
        #expect(enqueued(batch) == [2])
        #expect(batch.queue.settled == [QueueRow(9)])
    }

    @Test(
        "is empty when everything in it is settled in it",
        arguments: [[1, 2, 3], [3, 2, 1], [2, 3, 1], [2, 1, 3]])
    func all(_ order: [Int64]) {
        let batch = batch([store(1), store(2), store(3)] + order.map(settle))
        #expect(batch.queue.isEmpty)
    }

    @Test("settles a row once in memory and then on the disk")
    func twice() {
        let batch = batch([store(1), settle(1), settle(1)])
        #expect(batch.queue.enqueued.isEmpty && batch.queue.settled == [QueueRow(1)])
    }

    @Test("keeps the right ones, whatever is swapped", arguments: 1...20 as ClosedRange<UInt64>)
    func random(_ seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var batch = LedgerBatch()
        var (stored, settled, next) = (Set<QueueRow>(), Set<QueueRow>(), Int64(0))
        for _ in 0..<500 {
            if stored.isEmpty || random.chance(5, in: 9) {
                next += 1
                batch.add(store(next))
                stored.insert(QueueRow(next))
            } else if random.chance(1, in: 8) {
                let row = QueueRow(1_000_000 + Int64(settled.count))
                batch.add(.settle(row))
                settled.insert(row)
            } else {
                let row = random.pick(stored.sorted())
                stored.remove(row)
                batch.add(.settle(row))
            }
        }
        #expect(Set(batch.queue.enqueued.map(\.row)) == stored)
        #expect(batch.queue.enqueued.count == stored.count)
        #expect(batch.queue.enqueued.allSatisfy { $0.notification.identity.low == UInt64($0.row.value) })
        #expect(Set(batch.queue.settled) == settled)
    }

    @Test("sorts loads, changes and the close apart")
    func others() {
        let change = RegistryChange.removeDevice(Samples.device)
        let batch = batch([
            .load(Samples.device, [QueueRow(4)]), .apply([change], shard: 2, ticket: 7), .close,
        ])
        #expect(batch.queue.isEmpty && batch.closes)
        #expect(batch.loads.map(\.rows) == [[QueueRow(4)]])
        #expect(batch.registryChanges.map(\.ticket) == [7])
    }
}
