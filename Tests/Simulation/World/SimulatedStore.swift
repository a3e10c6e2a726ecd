import PostriderNotifications
import PostriderStorage

/// A disk as the world plays it: what is on it, what may be on it, and how it fails just now.
final class SimulatedDisk {
    /// How the disk is.
    enum Health {
        case well
        /// Nothing can be written; what is there can be read.
        case full
        /// Writes reach the disk, perhaps, and the sync fails: nobody knows whether they are there.
        case notSyncing
        /// Nothing can be written or read.
        case broken
    }

    let disk = MemoryStore.Disk()
    var health = Health.well
    /// What the observer knows: the numbers of all pushes that were ever committed.
    var committed: Set<Int> = []
    /// Those that were refused, and were on the disk after all.
    var surfaced: Set<Int> = []
    /// The same of broadcasts.
    var surfacedBroadcasts: Set<NotificationIdentity> = []
    /// The batch that is being written.
    fileprivate(set) var writing: (batch: QueueBatch, completion: (Result<Void, StoreError>) -> Void)?
    /// Written, but the sync failed: it may be there when the file is read again.
    fileprivate var doubtfulBatch: QueueBatch?
    fileprivate var doubtfulChanges: [RegistryChange] = []
    /// The last batches, for a disk that forgets.
    fileprivate var recent: [QueueBatch] = []

    private let chance: Chance
    fileprivate let fault: DeliberateFault?

    init(_ chance: Chance, _ fault: DeliberateFault?) {
        self.chance = chance
        self.fault = fault
    }

    /// The process has ended, and the page cache perhaps with it; the next one opens the files. A batch that was
    /// being written, or whose sync had failed, is there as a whole or not at all: SQLite takes a transaction from
    /// its log only when all of it is there.
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

    /// The files are read anew: what was doubtful is there, or not.
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

    /// Whether a sync has failed, and the files were not read anew since.
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

/// One life of the store on a disk: the memory store, with the failures of the one on SQLite. A commit takes its
/// time, and a file under which a sync has failed is read anew before the next change, as `TrustedFile` does.
final class SimulatedStore: Store {
    private let disk: SimulatedDisk
    private let store: MemoryStore
    /// Rows of refused batches; some may be on the disk all the same.
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

    /// Begins to write; the world says when it ends.
    func commit(_ batch: QueueBatch, completion: @escaping (Result<Void, StoreError>) -> Void) {
        precondition(disk.writing == nil, "one batch is written at a time")
        disk.writing = (batch, completion)
    }

    /// The batch that is being written is done with.
    func endCommit() {
        guard let (batch, completion) = disk.writing else { return }
        disk.writing = nil
        switch disk.health {
        case .well:
            disk.settleDoubts()
            write(batch, completion)
        case .notSyncing:
            // Nothing is written to a file that is in doubt already.
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
        if disk.fault == .storeSeparates { keepSlots(&batch) }
        batch.settled += doubtfulRows
        doubtfulRows = []
        disk.committed.formUnion(batch.enqueued.compactMap { pushNumber(in: $0.notification.payload) })
        disk.recent = disk.recent.suffix(100) + [batch]
        store.commit(batch, completion: completion)
    }

    /// Has what shares a slot stay on the disk.
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
