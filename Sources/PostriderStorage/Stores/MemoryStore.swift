public import PostriderNotifications

/// A store that keeps everything in memory. It is the specification for every other store, and the store of the
/// simulator. Each call completes before it returns.
public final class MemoryStore: Store {
    /// What a store has committed. It outlives the store as a disk outlives a process: a second store on the same
    /// disk sees what the first one committed.
    public final class Disk {
        /// While this is set, every call on a store with this disk fails with it and changes nothing.
        public var fault: StoreError?
        fileprivate var registry = Registry()
        fileprivate var notifications: [QueueRow: Notification] = [:]
        fileprivate var receipts: [QueueRow: Receipt] = [:]
        fileprivate var lastRow = QueueRow(0)
        /// By node: which of its stores may change the disk, counted from 1.
        fileprivate var incarnations: [String: Int] = [:]

        /// Creates an empty disk.
        public init() {}
    }

    private let disk: Disk
    /// The node of this store and its number among the node's stores; nil if it is not fenced.
    private let own: (node: String, incarnation: Int)?

    /// Creates a store on this disk.
    ///
    /// - Parameter node: the relay whose store this is. It takes the disk over from the node's earlier stores, which
    ///   then cannot change it any more. Without a node, nobody takes the disk over from this store.
    public init(disk: Disk = Disk(), node: String? = nil) {
        self.disk = disk
        own = node.map { node in
            disk.incarnations[node, default: 0] += 1
            return (node, disk.incarnations[node, default: 0])
        }
    }

    /// Returns everything in the registry.
    public func loadRegistry() throws(StoreError) -> Registry {
        try check()
        return disk.registry
    }

    /// Visits the entry of every stored notification in the order of rows, and returns the last row ever used.
    public func scanQueue(_ visit: (QueueEntry) -> Void) throws(StoreError) -> QueueRow {
        try check()
        for (row, notification) in disk.notifications.sorted(by: { $0.key < $1.key }) {
            visit(QueueEntry(row: row, notification: notification))
        }
        return disk.lastRow
    }

    /// Returns all receipts in the order of rows.
    public func loadReceipts() throws(StoreError) -> [Receipt] {
        try check()
        return disk.receipts.values.sorted { $0.row < $1.row }
    }

    /// Applies changes to the registry in order, all or none.
    public func apply(_ changes: [RegistryChange], completion: @escaping (Result<Void, StoreError>) -> Void) {
        completion(
            Result { () throws(StoreError) in
                try checkFence()
                try disk.registry.apply(changes)
            }
        )
    }

    /// Applies a batch to the queue, all or nothing.
    public func commit(_ batch: QueueBatch, completion: @escaping (Result<Void, StoreError>) -> Void) {
        completion(
            Result { () throws(StoreError) in
                try checkFence()
                let settled = Set(batch.settled)
                var taken: Set<QueueRow> = []
                for row in batch.enqueued.lazy.map(\.row) {
                    let isFree = disk.notifications[row] == nil || settled.contains(row)
                    guard isFree, taken.insert(row).inserted else {
                        throw StoreError(.conflict, "Row \(row.value) is in the queue already.")
                    }
                }
                for row in settled { disk.notifications[row] = nil }
                for queued in batch.enqueued { disk.notifications[queued.row] = queued.notification }
                for change in batch.receipts {
                    switch change {
                    case .put(let receipt): disk.receipts[receipt.row] = receipt
                    case .remove(let row): disk.receipts[row] = nil
                    }
                }
                disk.lastRow = max(disk.lastRow, taken.max() ?? disk.lastRow)
            }
        )
    }

    /// Returns the notifications of these rows in the given order, without those that do not exist.
    public func read(
        _ rows: [QueueRow], completion: @escaping (Result<[QueuedNotification], StoreError>) -> Void
    ) {
        completion(
            Result { () throws(StoreError) in
                try check()
                return rows.compactMap { row in
                    disk.notifications[row].map { QueuedNotification(row: row, notification: $0) }
                }
            }
        )
    }

    /// Does nothing: what was committed stays on the disk.
    public func close() {}

    private func check() throws(StoreError) {
        if let fault = disk.fault { throw fault }
    }

    private func checkFence() throws(StoreError) {
        try check()
        guard let own, disk.incarnations[own.node] != own.incarnation else { return }
        throw StoreError(.fenced, "Another relay has taken over as '\(own.node)': end one of the two.")
    }
}
