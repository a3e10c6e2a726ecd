import PostriderNotifications
import PostriderStorage

/// A simulated disk: its certain and its uncertain contents, and its present failure.
final class SimulatedDisk {
    /// The state of the disk.
    enum Health {
        case well
        /// Nothing can be written; reading works.
        case full
        /// Writes may reach the disk, but the sync fails, so that the result is unknown.
        case notSyncing
        /// Nothing can be written or read.
        case broken
    }

    let disk = MemoryStore.Disk()
    var health = Health.well
    /// The observer's knowledge: the numbers of all pushes that were ever committed.
    var committed: Set<Int> = []
    /// The numbers of pushes that were refused, but are on the disk.
    var surfaced: Set<Int> = []
    /// The same for broadcasts.
    var surfacedBroadcasts: Set<NotificationIdentity> = []
    /// The batch that is being written.
    fileprivate(set) var writing: (batch: QueueBatch, completion: (Result<Void, StoreError>) -> Void)?
    /// The batch whose sync failed: it may exist when the file is read again.
    fileprivate var doubtfulBatch: QueueBatch?
    fileprivate var doubtfulChanges: [RegistryChange] = []
    /// The last batches, for a disk that loses them.
    fileprivate var recent: [QueueBatch] = []

    private let chance: Chance
    fileprivate let fault: DeliberateFault?

    init(_ chance: Chance, _ fault: DeliberateFault?) {
        self.chance = chance
        self.fault = fault
    }

    /// Opens the files for a new process. The old process has ended, and perhaps the page cache is lost. A batch that
    /// was being written, or whose sync had failed, exists as a whole or not at all: SQLite uses a transaction in its
    /// log only if it is complete.
    func openAnew() {
        let canHaveWritten = health == .well || health == .notSyncing && doubtfulBatch == nil
        settleDoubts()
        if let (batch, _) = writing, canHaveWritten, chance.once(in: 2) { surface(batch) }
        writing = nil
        health = .well
        guard fault == .diskForgets else { return }
        for batch in recent {
            let undone = QueueBatch(settling: batch.enqueued.map(\.row))
            MemoryStore(disk: disk).commit(undone) { _ in }
        }
        recent = []
    }

    /// Decides whether the uncertain changes exist, as a reader of the files would see them.
    fileprivate func settleDoubts() {
        if let batch = doubtfulBatch, chance.once(in: 2) { surface(batch) }
        doubtfulBatch = nil
        if !doubtfulChanges.isEmpty, chance.once(in: 2) {
            MemoryStore(disk: disk).apply(doubtfulChanges) { _ in }
            for case .putBroadcast(let broadcast) in doubtfulChanges {
                surfacedBroadcasts.insert(broadcast.identity)
            }
        }
        doubtfulChanges = []
    }

    /// Whether a sync has failed since the files were last read.
    fileprivate var isDoubtful: Bool { doubtfulBatch != nil || !doubtfulChanges.isEmpty }

    private func surface(_ batch: QueueBatch) {
        MemoryStore(disk: disk).commit(batch) { _ in }
        surfaced.formUnion(batch.enqueued.compactMap { pushNumber(in: $0.notification.payload) })
        committed.formUnion(batch.enqueued.compactMap { pushNumber(in: $0.notification.payload) })
    }
}

extension QueueBatch {
    fileprivate init(settling rows: [QueueRow]) {
        self.init()
        settled = rows
    }
}

/// One process's store on a disk: the memory store, with the failures of the SQLite store. A commit takes time, and
/// after a failed sync the file is read again before the next change, as `TrustedFile` does.
final class SimulatedStore: Store {
    private let disk: SimulatedDisk
    private let store: MemoryStore
    /// The rows of refused batches; some may be on the disk nevertheless.
    private var doubtfulRows: [QueueRow] = []

    init(_ disk: SimulatedDisk) {
        self.disk = disk
        store = MemoryStore(disk: disk.disk)
    }

    func loadRegistry() throws(StoreError) -> Registry {
        var registry = try store.loadRegistry()
        guard disk.fault == .storePostdates else { return registry }
        registry.registrations = registry.registrations.map { record in
            RegistrationRecord(
                device: record.device, number: record.number, topic: record.topic,
                registeredAt: record.registeredAt,
                unregisteredAt: record.unregisteredAt?.advanced(byMilliseconds: 1000))
        }
        return registry
    }

    func scanQueue(_ visit: (QueueEntry) -> Void) throws(StoreError) -> QueueRow {
        let later: Int64 = disk.fault == .storeProlongs ? 60_000 : 0
        let separates = disk.fault == .storeSeparates
        return try store.scanQueue { entry in
            let own = Slot.identity(
                entry.registration, NotificationIdentity(high: 0, low: UInt64(entry.row.value)))
            visit(
                QueueEntry(
                    row: entry.row, device: entry.device, registration: entry.registration,
                    slot: separates ? own : entry.slot, priority: entry.priority,
                    acceptedAt: entry.acceptedAt,
                    expiresAt: entry.expiresAt.advanced(byMilliseconds: later)))
        }
    }

    func loadReceipts() throws(StoreError) -> [Receipt] { try store.loadReceipts() }

    func apply(_ changes: [RegistryChange], completion: @escaping (Result<Void, StoreError>) -> Void) {
        switch disk.health {
        case .well:
            disk.settleDoubts()
            store.apply(changes, completion: completion)
        case .notSyncing:
            if !disk.isDoubtful { disk.doubtfulChanges = changes }
            completion(.failure(Self.notSynced))
        case .full, .broken: completion(.failure(Self.full))
        }
    }

    /// Begins to write; the world decides when it ends.
    func commit(_ batch: QueueBatch, completion: @escaping (Result<Void, StoreError>) -> Void) {
        precondition(disk.writing == nil, "one batch is written at a time")
        disk.writing = (batch, completion)
    }

    /// Ends the write of the current batch.
    func endCommit() {
        guard let (batch, completion) = disk.writing else { return }
        disk.writing = nil
        switch disk.health {
        case .well:
            disk.settleDoubts()
            write(batch, completion)
        case .notSyncing:
            // Nothing is written to a file whose contents are uncertain.
            if !disk.isDoubtful {
                disk.doubtfulBatch = batch
                doubtfulRows += batch.enqueued.map(\.row)
            }
            completion(.failure(Self.notSynced))
        case .full, .broken: completion(.failure(Self.full))
        }
    }

    private func write(_ batch: QueueBatch, _ completion: @escaping (Result<Void, StoreError>) -> Void) {
        if disk.fault == .storeLies, batch.enqueued.count > 1 { return completion(.success(())) }
        var batch = batch
        if disk.fault == .diskKeeps { batch.settled = [] }
        if disk.fault == .storeDropsMessages {
            batch.enqueued.removeAll {
                pushNumber(in: $0.notification.payload).map { $0 >= SimulatedMessage.firstNumber } ?? false
            }
        }
        if disk.fault == .diskKeepsReceipts {
            batch.receipts.removeAll { if case .remove = $0 { true } else { false } }
        }
        if disk.fault == .storeSeparates { keepSlots(&batch) }
        batch.settled += doubtfulRows
        doubtfulRows = []
        disk.committed.formUnion(batch.enqueued.compactMap { pushNumber(in: $0.notification.payload) })
        disk.recent = disk.recent.suffix(100) + [batch]
        store.commit(batch, completion: completion)
    }

    /// Keeps replaced notifications on the disk.
    private func keepSlots(_ batch: inout QueueBatch) {
        var kept: [QueueRow] = []
        store.read(batch.settled) { result in
            let found = (try? result.get()) ?? []
            kept = found.filter { $0.notification.collapseIdentifier != nil }.map(\.row)
        }
        batch.settled.removeAll(where: kept.contains)
    }

    func read(_ rows: [QueueRow], completion: @escaping (Result<[QueuedNotification], StoreError>) -> Void) {
        guard disk.health != .broken else { return completion(.failure(Self.full)) }
        store.read(rows, completion: completion)
    }

    func close() { store.close() }

    private static let full = StoreError(.full, "No room.")
    private static let notSynced = StoreError(.inputOutput, "The disk failed.")
}
