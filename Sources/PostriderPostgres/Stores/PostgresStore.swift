import PostriderCluster
public import PostriderNotifications
public import PostriderStorage

/// A store in a PostgreSQL database, or in another one that speaks its protocol.
///
/// Each call completes before it returns. The store belongs to one thread at a time, which is the ledger's. A batch is
/// one transaction and one round trip. If the connection is lost, the next call connects again; a database that cannot
/// be reached is tried less and less often, and meanwhile each call fails at once.
public final class PostgresStore: Store {
    /// Where the database is and how far its answers are waited for.
    private let place: DatabasePlace
    private let log: Log
    private var connection: PostgresConnection?
    private var claim: NodeClaim
    /// Compares changes with the placement; nil if the relay has the database alone.
    private let checks: PartitionChecks?
    private var reconnection: Reconnection
    /// Rows of batches whose outcome is unknown. The next batch removes them. By then it is known whether they exist,
    /// because connecting again moves the claim.
    private var doubtfulRows: [QueueRow] = []
    /// Set when another process has taken the node over, which is for ever.
    private var fencing: StoreError? {
        didSet { if oldValue == nil, let fencing { whenFenced(fencing) } }
    }
    private let whenFenced: (StoreError) -> Void
    /// The claim on the directory of the process's other files.
    private let directory: OwnedDirectory?
    /// The first row of this process is above this one.
    private let lastRowBefore: Int64
    /// Whether the database may lose what it has committed, and the operator has accepted that.
    public private(set) var isLossy = false

    /// Each process numbers its rows in a range of its own: as many rows as this are in it.
    private static let rowsPerClaim: Int64 = 1 << 40

    /// Opens the store, makes or migrates its tables, and takes the node over from an earlier process.
    ///
    /// - Parameters:
    ///   - node: the name of this relay in the database.
    ///   - acceptsLosses: whether a database is used that may lose what it has committed.
    ///   - directory: the directory of the process's other files; the store keeps it claimed.
    ///   - whenFenced: called once, when another process has taken the node over.
    /// - Throws: ``StoreError`` of kind ``StoreError/Kind/unreachable`` if no connection can be made, and
    ///   ``StoreError/Kind/unusable`` if the tables have a newer version or the database loses what it commits.
    public convenience init(
        _ address: DatabaseAddress, node: String = "postrider", acceptsLosses: Bool = false,
        directory: OwnedDirectory? = nil, log: Log, whenFenced: @escaping (StoreError) -> Void = { _ in }
    ) throws(StoreError) {
        try self.init(
            DatabasePlace(address: address, node: node, acceptsLosses: acceptsLosses), directory: directory,
            log: log, whenFenced: whenFenced)
    }

    /// Opens the store at a place.
    ///
    /// - Parameter member: the claim of a node that has joined a cluster; nil for a relay that has the database alone.
    init(
        _ place: DatabasePlace, member: NodeClaim? = nil, directory: OwnedDirectory? = nil, log: Log,
        whenFenced: @escaping (StoreError) -> Void = { _ in }
    ) throws(StoreError) {
        self.directory = directory
        self.whenFenced = whenFenced
        self.place = place
        self.log = log
        checks = member.map { PartitionChecks(node: $0.name) }
        let opened = try place.open(log: log)
        var claim = member ?? NodeClaim(name: place.node)
        if member == nil {
            try place.checkSchema(opened.connection)
            try place.removeDeadMembers(opened.connection)
        }
        let isHeld = try place.saying { [checks] () throws(PostgresFailure) in
            try place.prepareStatements(opened.connection, checks: checks)
            if member != nil { return try claim.move(to: opened.connection) }
            try claim.take(opened.connection)
            return true
        }
        guard isHeld else { throw place.exclusion }
        self.claim = claim
        reconnection = Reconnection(pauses: place.pauses)
        connection = opened.connection
        isLossy = opened.isLossy
        lastRowBefore = claim.incarnation * Self.rowsPerClaim
    }

    /// Connects to a database and looks at it, without changing anything.
    ///
    /// - Throws: the ``StoreError`` with which a store would refuse it.
    public static func probe(_ address: DatabaseAddress, acceptsLosses: Bool = false) throws(StoreError) {
        let place = DatabasePlace(address: address, node: "doctor", acceptsLosses: acceptsLosses)
        _ = try place.open(log: .none)
    }

    // MARK: - Reading

    /// Returns everything in the registry.
    public func loadRegistry() throws(StoreError) -> Registry {
        try reader().load()
    }

    /// Visits the entry of every stored notification in the order of rows, and returns the row below the first one of
    /// this process.
    public func scanQueue(_ visit: (QueueEntry) -> Void) throws(StoreError) -> QueueRow {
        var last = lastRowBefore
        try reader().scan { entry in
            last = max(last, entry.row.value)
            visit(entry)
        }
        return QueueRow(last)
    }

    /// Returns all receipts in the order of rows.
    public func loadReceipts() throws(StoreError) -> [Receipt] {
        try RegistryReader(connection: connected(), address: place.address).receipts()
    }

    /// Returns the notifications of these rows in the given order, without those that do not exist.
    public func read(
        _ rows: [QueueRow], completion: @escaping (Result<[QueuedNotification], StoreError>) -> Void
    ) {
        completion(Result { () throws(StoreError) in try read(rows) })
    }

    private func read(_ rows: [QueueRow]) throws(StoreError) -> [QueuedNotification] {
        guard !rows.isEmpty else { return [] }
        let results = try attempt { connection throws(PostgresFailure) in
            try connection.run([QueueStatements.read(rows)])
        }
        var found: [QueueRow: Notification] = [:]
        for row in results.flatMap(\.rows) {
            guard let notification = Notification(row: row) else {
                throw StoreError(
                    .unusable,
                    "The database \(place.address) is damaged (row \(row.integer(0)) cannot be read): "
                        + "restore a backup of it.")
            }
            found[QueueRow(row.integer(0))] = notification
        }
        return rows.compactMap { row in found[row].map { QueuedNotification(row: row, notification: $0) } }
    }

    // MARK: - Changing

    /// Applies changes to the registry in order, all or none. After a lost connection it is unknown which of the two
    /// happened. Applying the same changes again is harmless.
    public func apply(_ changes: [RegistryChange], completion: @escaping (Result<Void, StoreError>) -> Void) {
        let requests = checks?.changes(of: changes) ?? changes.flatMap(RegistryStatements.of)
        completion(
            Result { () throws(StoreError) in
                guard !requests.isEmpty else { return }
                try attempt { connection throws(PostgresFailure) in
                    try connection.transaction([claim.fence] + requests)
                }
            })
    }

    /// Adds a token secret if there is none, and returns those that there are then.
    public func addFirstTokenSecret(
        _ drawn: [UInt8], completion: @escaping (Result<[[UInt8]], StoreError>) -> Void
    ) {
        let isShared = checks == nil ? [] : [PartitionChecks.newVersion]
        let requests = isShared + RegistryStatements.addFirstTokenSecret(drawn)
        completion(
            Result { () throws(StoreError) in
                let results = try attempt { connection throws(PostgresFailure) in
                    try connection.transaction([claim.fence] + requests)
                }
                return results.last?.rows.map { $0.bytes(0) } ?? []
            })
    }

    /// Applies a batch to the queue, all or nothing.
    public func commit(_ batch: QueueBatch, completion: @escaping (Result<Void, StoreError>) -> Void) {
        completion(Result { () throws(StoreError) in try commit(batch) })
    }

    private func commit(_ batch: QueueBatch) throws(StoreError) {
        let doubtful = doubtfulRows.count
        guard !batch.isEmpty || doubtful > 0 else { return }
        do throws(StoreError) {
            try attempt { connection throws(PostgresFailure) in
                var batch = batch
                batch.settled += doubtfulRows
                do throws(PostgresFailure) {
                    let requests = checks?.changes(of: batch) ?? QueueStatements.changes(of: batch)
                    try connection.transaction([claim.fence] + requests)
                } catch {
                    if error.isLost { doubtfulRows += batch.enqueued.map(\.row) }
                    throw error
                }
            }
            doubtfulRows = []
        } catch {
            // Connecting again has failed, so it is not known yet whether the batch was written.
            guard doubtfulRows.count > doubtful, error.kind == .unreachable else { throw error }
            throw StoreError(.inputOutput, error.description)
        }
    }

    /// Calls `body` with the connection. If the connection is lost, it is made again and `body` called once more,
    /// because a server that was restarted since the last call is no reason to refuse a push. By then the outcome of
    /// the first call is decided.
    @discardableResult
    private func attempt<Value>(
        _ body: (PostgresConnection) throws(PostgresFailure) -> Value
    ) throws(StoreError) -> Value {
        var isRepeated = false
        while true {
            let connection = try connected()
            do throws(PostgresFailure) {
                return try body(connection)
            } catch {
                let isGone = connection.isLost || error.isLost
                let reported = sentence(for: error)
                if isGone || reported.kind == .unreachable { self.connection = nil }
                if isGone, !isRepeated {
                    isRepeated = true
                    continue
                }
                if reported.kind == .fenced { fencing = reported }
                throw reported
            }
        }
    }

    /// The error when the node is not this process's any more.
    private var loss: StoreError { checks == nil ? place.fencing : place.exclusion }

    private func sentence(for failure: PostgresFailure) -> StoreError {
        if let checks, PartitionChecks.isMisplaced(failure) { return checks.misplacement }
        return NodeClaim.isFenced(failure) ? loss : StoreError(failure, at: place.address)
    }

    // MARK: - Partitions

    /// The row below the first one of this process.
    var firstRow: QueueRow { QueueRow(lastRowBefore) }

    /// What reads the tables.
    func reader() throws(StoreError) -> RegistryReader {
        RegistryReader(connection: try connected(), address: place.address)
    }

    /// Throws if the node does not have these partitions.
    func checkOwnership(of partitions: Set<Partition>) throws(StoreError) {
        guard let checks else { return }
        try attempt { connection throws(PostgresFailure) in
            try connection.transaction([claim.fence, checks.owns(partitions)])
        }
    }

    // MARK: - The connection

    /// The connection, which is made again if it was lost.
    private func connected() throws(StoreError) -> PostgresConnection {
        if let fencing { throw fencing }
        if let connection { return connection }
        try reconnection.begin()
        do throws(StoreError) {
            let connection = try reconnect()
            reconnection.succeeded()
            self.connection = connection
            return connection
        } catch {
            if error.kind == .fenced {
                fencing = error
                throw error
            }
            // What is wrong with the server may be mended while the relay runs.
            let failure = StoreError(.unreachable, error.description)
            reconnection.failed(failure)
            throw failure
        }
    }

    private func reconnect() throws(StoreError) -> PostgresConnection {
        let opened = try place.open(log: log)
        let isHeld = try place.saying { () throws(PostgresFailure) in
            guard try claim.move(to: opened.connection) else { return false }
            try place.prepareStatements(opened.connection, checks: checks)
            return true
        }
        guard isHeld else { throw loss }
        isLossy = opened.isLossy
        log.notice("the database \(place.address) is connected again")
        return opened.connection
    }

    /// Throws: a database is copied with its own tools.
    public func snapshot() throws(StoreError) -> any StoreSnapshot {
        throw StoreError(
            .unusable,
            "The store is the database \(place.address), which the relay does not copy: back it up with the "
                + "database's own tools, such as pg_basebackup or pg_dump.")
    }

    /// Closes the connection. Releasing the store does the same.
    public func close() { connection = nil }
}
