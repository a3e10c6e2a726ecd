import PostriderNotifications
import PostriderStorage

/// A store that completes a commit when the test says so, like an engine that pipelines.
final class SlowStore: Store {
    let disk = MemoryStore(disk: MemoryStore.Disk())
    var isHeld = false
    var held: [() -> Void] = []
    var failures = 0
    /// The error of the commits that fail.
    var failure = StoreError(.full, "No room.")
    var batches: [QueueBatch] = []
    var isClosed = false
    var cannotBeCopied = false
    /// The number of changes in each requested transaction of the registry.
    var transactions: [Int] = []
    /// A change that the store refuses.
    var refused: RegistryChange?

    private final class Copy: StoreSnapshot {
        func copy(to directory: String) throws(StoreError) {}
    }

    func snapshot() throws(StoreError) -> any StoreSnapshot {
        guard !cannotBeCopied else { throw StoreError(.busy, "A copy is being made.") }
        return Copy()
    }

    func loadRegistry() throws(StoreError) -> Registry { try disk.loadRegistry() }
    func scanQueue(_ visit: (QueueEntry) -> Void) throws(StoreError) -> QueueRow { try disk.scanQueue(visit) }

    func loadReceipts() throws(StoreError) -> [Receipt] { try disk.loadReceipts() }

    func apply(_ changes: [RegistryChange], completion: @escaping (Result<Void, StoreError>) -> Void) {
        transactions.append(changes.count)
        guard !changes.contains(where: { $0 == refused }) else {
            return completion(.failure(StoreError(.conflict, "It cannot be made.")))
        }
        disk.apply(changes, completion: completion)
    }

    func commit(_ batch: QueueBatch, completion: @escaping (Result<Void, StoreError>) -> Void) {
        batches.append(batch)
        let work = { [self] in
            if failures > 0 {
                failures -= 1
                completion(.failure(failure))
            } else {
                disk.commit(batch, completion: completion)
            }
        }
        if isHeld { held.append(work) } else { work() }
    }

    func read(_ rows: [QueueRow], completion: @escaping (Result<[QueuedNotification], StoreError>) -> Void) {
        disk.read(rows, completion: completion)
    }

    func close() { isClosed = true }

    /// Completes the current commit.
    func complete() {
        let work = held
        held = []
        for one in work { one() }
    }

    var rows: [Int64] {
        var rows: [Int64] = []
        _ = try? disk.scanQueue { rows.append($0.row.value) }
        return rows
    }
}
