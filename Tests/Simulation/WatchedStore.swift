import Notifications
import Storage

/// A memory store that remembers what was ever committed, and fails when the world says so.
final class WatchedStore: Store {
    private let store: MemoryStore
    /// What a later store on the same disk has to know, too.
    final class Memory {
        var committed: Set<NotificationIdentity> = []
        var isFailing = false
    }

    private let memory: Memory

    init(_ disk: MemoryStore.Disk, _ memory: Memory) {
        store = MemoryStore(disk: disk)
        self.memory = memory
    }

    func loadRegistry() throws(StoreError) -> Registry { try store.loadRegistry() }
    func scanQueue(_ visit: (QueueEntry) -> Void) throws(StoreError) -> QueueRow {
        try store.scanQueue(visit)
    }

    func apply(_ changes: [RegistryChange], completion: @escaping (Result<Void, StoreError>) -> Void) {
        guard !memory.isFailing else { return completion(.failure(Self.full)) }
        store.apply(changes, completion: completion)
    }

    func commit(_ batch: QueueBatch, completion: @escaping (Result<Void, StoreError>) -> Void) {
        guard !memory.isFailing else { return completion(.failure(Self.full)) }
        for queued in batch.enqueued { memory.committed.insert(queued.notification.identity) }
        store.commit(batch, completion: completion)
    }

    func read(_ rows: [QueueRow], completion: @escaping (Result<[QueuedNotification], StoreError>) -> Void) {
        guard !memory.isFailing else { return completion(.failure(Self.full)) }
        store.read(rows, completion: completion)
    }

    func close() { store.close() }

    private static let full = StoreError(.full, "No room.")
}
