public import PostriderCluster
public import PostriderNotifications

/// The store of a member's ledger, in the cluster's PostgreSQL database. It belongs to one thread at a time.
public final class PostgresPartitionStore: PartitionStore {
    private let store: PostgresStore

    /// Creates the store of a node that has joined, on a connection of its own.
    ///
    /// - Parameters:
    ///   - claim: that of the node's membership (``PostgresClusterStore/claim``).
    ///   - acceptsLosses: whether a database is used that may lose what it has committed.
    ///   - whenFenced: called once, when the node is not a member any more.
    /// - Throws: ``StoreError`` of kind ``StoreError/Kind/fenced`` if the membership is over.
    public init(
        _ address: DatabaseAddress, of claim: MemberClaim, acceptsLosses: Bool = false, log: Log,
        whenFenced: @escaping (StoreError) -> Void = { _ in }
    ) throws(StoreError) {
        let place = DatabasePlace(address: address, node: claim.name.text, acceptsLosses: acceptsLosses)
        store = try PostgresStore(
            place, member: NodeClaim(name: claim.name.text, holder: claim.holder), log: log,
            whenFenced: whenFenced)
    }

    /// Returns what every node has.
    public func loadRegistry() throws(StoreError) -> Registry { try store.reader().loadShared() }

    /// Visits nothing, and returns the row below the first one of the node.
    public func scanQueue(_ visit: (QueueEntry) -> Void) throws(StoreError) -> QueueRow { store.firstRow }

    /// Returns nothing, as ``scanQueue(_:)`` visits nothing.
    public func loadReceipts() throws(StoreError) -> [Receipt] { [] }

    /// Reads partitions that the node has.
    public func load(
        _ partitions: Set<Partition>, visit: (QueueEntry) -> Void
    ) throws(StoreError) -> Registry {
        try store.checkOwnership(of: partitions)
        let reader = try store.reader()
        let registry = try reader.load(partitions)
        try reader.scan(partitions, visit)
        return registry
    }

    /// Returns the receipts of partitions that the node has.
    public func loadReceipts(of partitions: Set<Partition>) throws(StoreError) -> [Receipt] {
        try store.checkOwnership(of: partitions)
        return try store.reader().receipts(of: partitions)
    }

    /// Applies changes to the registry in order, all or none.
    public func apply(_ changes: [RegistryChange], completion: @escaping (Result<Void, StoreError>) -> Void) {
        store.apply(changes, completion: completion)
    }

    /// Adds a token secret if there is none, and returns those that there are then.
    public func addFirstTokenSecret(
        _ drawn: [UInt8], completion: @escaping (Result<[[UInt8]], StoreError>) -> Void
    ) {
        store.addFirstTokenSecret(drawn, completion: completion)
    }

    /// Applies a batch to the queue, all or nothing.
    public func commit(_ batch: QueueBatch, completion: @escaping (Result<Void, StoreError>) -> Void) {
        store.commit(batch, completion: completion)
    }

    /// Returns the notifications of these rows in the given order, without those that do not exist.
    public func read(
        _ rows: [QueueRow], completion: @escaping (Result<[QueuedNotification], StoreError>) -> Void
    ) {
        store.read(rows, completion: completion)
    }

    /// Closes the connection.
    public func close() { store.close() }
}
