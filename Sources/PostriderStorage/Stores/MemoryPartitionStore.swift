public import PostriderCluster
public import PostriderNotifications

/// The store of a member's ledger in a ``MemoryCluster``.
public final class MemoryPartitionStore: PartitionStore {
    private let member: MemoryClusterStore
    private let store: MemoryStore
    /// The membership that this store belongs to.
    private let first: Int64?

    private var cluster: MemoryCluster { member.cluster }

    /// Creates the store of a node that has joined.
    public init(of member: MemoryClusterStore) {
        self.member = member
        store = MemoryStore(disk: member.cluster.disk)
        first = member.cluster.firstGeneration(of: member.name)
    }

    /// Returns what every node has.
    public func loadRegistry() throws(StoreError) -> Registry { try store.loadRegistry().shared }

    /// Visits nothing, and returns the row below the first one of the node.
    public func scanQueue(_ visit: (QueueEntry) -> Void) throws(StoreError) -> QueueRow {
        try cluster.check()
        return QueueRow(try node().generation << QueueRow.generationShift)
    }

    /// Reads partitions that the node has.
    public func load(
        _ partitions: Set<Partition>, visit: (QueueEntry) -> Void
    ) throws(StoreError) -> Registry {
        let registry = try store.loadRegistry()
        try checkOwnership(of: partitions)
        _ = try store.scanQueue { entry in
            if partitions.contains(Partition(of: entry.device)) { visit(entry) }
        }
        return registry.part(of: partitions)
    }

    /// Returns nothing, as ``scanQueue(_:)`` visits nothing.
    public func loadReceipts() throws(StoreError) -> [Receipt] {
        try cluster.check()
        return []
    }

    /// Returns the receipts of partitions that the node has.
    public func loadReceipts(of partitions: Set<Partition>) throws(StoreError) -> [Receipt] {
        let receipts = try store.loadReceipts()
        try checkOwnership(of: partitions)
        return receipts.filter { partitions.contains(Partition(of: $0)) }
    }

    /// Applies changes to the registry in order, all or none.
    public func apply(_ changes: [RegistryChange], completion: @escaping (Result<Void, StoreError>) -> Void) {
        do throws(StoreError) {
            try cluster.check()
            try checkOwnership(of: changes.compactMap(\.device).map(Partition.init(of:)))
        } catch {
            return completion(.failure(error))
        }
        store.apply(changes.filter { $0.scope != .run }) { [cluster] result in
            if case .success = result, changes.contains(where: { $0.scope == .shared }) {
                cluster.countChange()
            }
            completion(result)
        }
    }

    /// Applies a batch to the queue, all or nothing.
    public func commit(_ batch: QueueBatch, completion: @escaping (Result<Void, StoreError>) -> Void) {
        var allowed = batch
        do throws(StoreError) {
            try cluster.check()
            try checkOwnership(of: batch.enqueued.map { Partition(of: $0.notification.device) })
            let name = member.name
            var own: Set<QueueRow> = []
            if !batch.settled.isEmpty {
                _ = try store.scanQueue { entry in
                    if cluster.placement.owner(of: Partition(of: entry.device)) == name {
                        own.insert(entry.row)
                    }
                }
            }
            allowed.settled = batch.settled.filter(own.contains)
            if !batch.receipts.isEmpty {
                let stored = try store.loadReceipts().map { ($0.row, Partition(of: $0)) }
                let places = Dictionary(uniqueKeysWithValues: stored)
                allowed.receipts = batch.receipts.filter { change in
                    let place: Partition? =
                        switch change {
                        case .put(let receipt): Partition(of: receipt.device)
                        case .remove(let row): places[row]
                        }
                    return place.map { cluster.placement.owner(of: $0) == name } ?? true
                }
            }
        } catch {
            return completion(.failure(error))
        }
        store.commit(allowed, completion: completion)
    }

    /// Returns the notifications of these rows in the given order, without those that do not exist.
    public func read(
        _ rows: [QueueRow], completion: @escaping (Result<[QueuedNotification], StoreError>) -> Void
    ) {
        store.read(rows, completion: completion)
    }

    /// Does nothing.
    public func close() {}

    private func node() throws(StoreError) -> ClusterNode {
        let isOver = cluster.firstGeneration(of: member.name) != first
        return try cluster.member(member.name, holder: isOver ? 0 : member.holder)
    }

    private func checkOwnership(of partitions: some Sequence<Partition>) throws(StoreError) {
        let name = try node().name
        guard let other = partitions.first(where: { cluster.placement.owner(of: $0) != name }) else { return }
        throw .misplaced(other, node: name)
    }
}
