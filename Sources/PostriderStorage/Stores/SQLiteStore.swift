public import PostriderNotifications

/// A store that keeps everything in two SQLite files of one directory: `registry.sqlite` and `queue.sqlite`.
///
/// Each call completes before it returns. The store belongs to one thread at a time, which is the ledger's. Only the
/// write-ahead logs are copied into the files on another thread.
public final class SQLiteStore: Store {
    /// The open files; nil after `close()`.
    private var files: Files?

    private struct Files {
        let registry: TrustedFile<RegistryFile>
        let queue: TrustedFile<QueueFile>
        /// The claim on the directory. It is released last, after the files are closed.
        let directory: OwnedDirectory
    }

    /// Which files were changed since their logs were last maintained.
    private var unmaintained = (registry: false, queue: false)
    /// The snapshot that is being copied; nil if there is none.
    private weak var snapshotUnderWay: Snapshot?
    /// Rows of batches whose commit failed with an I/O error, which may exist nevertheless, and which did exist when
    /// the log was read again. The next batch removes them. Rows of a batch that failed for lack of space are not
    /// among them, because the frame that commits them was not written.
    private(set) var doubtfulRows: [QueueRow] = []

    /// Opens the store in this directory, and creates it (mode 0700, files 0600) if it is missing.
    ///
    /// - Throws: ``StoreError`` of kind ``StoreError/Kind/busy`` if another process owns the directory, and
    ///   ``StoreError/Kind/unusable`` if a file in it belongs to another program, is damaged, or has a newer version.
    public convenience init(directory: String, log: Log) throws(StoreError) {
        // 32 MiB. Syncing a log that is overwritten takes half as long as one that grows (165 against 370 µs for a
        // batch of 28 KB), so a log should restart often; but each restart costs syncs of the file.
        try self.init(directory: directory, log: log, logPages: 8192)
    }

    /// Opens the store with write-ahead logs that are copied into their files from `logPages` pages of 4 KiB on.
    init(directory path: String, log: Log, logPages: Int) throws(StoreError) {
        let directory = try OwnedDirectory(path, log: log)
        try Self.requireRegistry(in: path, log)
        files = Files(
            registry: try TrustedFile(path: path + "/registry.sqlite", thresholdPages: logPages, log: log),
            queue: try TrustedFile(path: path + "/queue.sqlite", thresholdPages: logPages, log: log),
            directory: directory
        )
    }

    deinit { close() }

    /// Refuses a queue without a registry, which is always created before it. With a new registry every device would
    /// be unknown, and the notifications queued for it would be removed.
    private static func requireRegistry(in path: String, _ log: Log) throws(StoreError) {
        let (registry, queue) = (path + "/registry.sqlite", path + "/queue.sqlite")
        guard Database.isMade(queue), !Database.isMade(registry) else { return }
        // A file that is not a queue gets the error that says so.
        try TrustedFile<QueueFile>(path: queue, thresholdPages: nil, log: log).close()
        throw StoreError(
            .unusable,
            "\(registry) is gone or empty, and there is a queue for its devices beside it: put a backup "
                + "in the place of both, or move both away.")
    }

    /// Returns everything in the registry.
    public func loadRegistry() throws(StoreError) -> Registry {
        try open().registry.read { file throws(StoreError) in try file.load() }
    }

    /// Visits the entry of every stored notification in the order of rows, and returns the last row ever used.
    public func scanQueue(_ visit: (QueueEntry) -> Void) throws(StoreError) -> QueueRow {
        try open().queue.read { file throws(StoreError) in try file.scan(visit) }
    }

    /// Returns all receipts in the order of rows.
    public func loadReceipts() throws(StoreError) -> [Receipt] {
        try open().queue.read { file throws(StoreError) in try file.loadReceipts() }
    }

    /// Applies changes to the registry in order, all or none. After a disk failure it is unknown which of the two
    /// happened. Applying the same changes again is harmless.
    public func apply(_ changes: [RegistryChange], completion: @escaping (Result<Void, StoreError>) -> Void) {
        let registry = open().registry
        maintain()
        completion(
            Result { () throws(StoreError) in
                try believe(registry)
                try registry.change { file throws(StoreError) in try file.apply(changes) }
            })
        unmaintained.registry = true
    }

    /// Applies a batch to the queue, all or nothing.
    public func commit(_ batch: QueueBatch, completion: @escaping (Result<Void, StoreError>) -> Void) {
        let queue = open().queue
        maintain()
        completion(
            Result { () throws(StoreError) in
                try believeQueue()
                do throws(StoreError) {
                    try queue.change { file throws(StoreError) in try commit(batch, to: file) }
                } catch {
                    guard error.kind == .full, batch.enqueued.isEmpty else { throw error }
                    // A row whose receipt changes is removed together with that change.
                    let bound = Set(batch.receipts.map(\.row))
                    try remove(batch.settled.filter { !bound.contains($0) }, from: queue)
                    var rest = QueueBatch()
                    rest.settled = batch.settled.filter(bound.contains)
                    rest.receipts = batch.receipts
                    try queue.change { file throws(StoreError) in try commit(rest, to: file) }
                }
            })
        unmaintained.queue = true
    }

    /// Maintains the logs of files that were changed: copies them into their files if they are long, and extends them
    /// ahead of use. If it is not called, the next change does this first.
    public func maintain() {
        if unmaintained.registry { files?.registry.maintain() }
        if unmaintained.queue { files?.queue.maintain() }
        unmaintained = (false, false)
    }

    private func commit(_ batch: QueueBatch, to file: QueueFile) throws(StoreError) {
        do throws(StoreError) {
            guard !doubtfulRows.isEmpty else { return try file.commit(batch) }
            var batch = batch
            batch.settled += doubtfulRows
            try file.commit(batch)
            doubtfulRows = []
        } catch {
            if error.kind == .inputOutput { doubtfulRows += batch.enqueued.map(\.row) }
            throw error
        }
    }

    /// Removes rows in several transactions if the log has no room for one: each transaction rewrites the pages that
    /// contain its rows.
    private func remove(_ rows: [QueueRow], from queue: TrustedFile<QueueFile>) throws(StoreError) {
        var (rest, count) = (rows[...], Self.rowsAtOnce)
        while !rest.isEmpty {
            var piece = QueueBatch()
            piece.settled = Array(rest.prefix(count))
            do throws(StoreError) {
                try queue.change { file throws(StoreError) in try commit(piece, to: file) }
                rest = rest.dropFirst(count)
            } catch {
                guard error.kind == .full, count > 1 else { throw error }
                count /= 2
            }
        }
    }

    private static let rowsAtOnce = 16

    /// Recovers a file after its disk has failed.
    private func believe<File>(_ file: TrustedFile<File>) throws(StoreError) {
        guard file.needsRenewal else { return }
        snapshotUnderWay?.giveUp()
        try file.renew()
    }

    /// Recovers the queue file, and keeps those doubtful rows that turn out to exist.
    private func believeQueue() throws(StoreError) {
        let queue = open().queue
        guard queue.needsRenewal else { return }
        try believe(queue)
        let rows = doubtfulRows
        doubtfulRows = try queue.read { file throws(StoreError) in try file.present(rows) }
    }

    /// Extends the queue's log piece by piece to its final length, because a log that grows takes longer to sync.
    public func prepare() -> Bool { files?.queue.prepare() ?? false }

    /// Returns the notifications of these rows in the given order, without those that do not exist.
    public func read(
        _ rows: [QueueRow], completion: @escaping (Result<[QueuedNotification], StoreError>) -> Void
    ) {
        let queue = open().queue
        completion(
            Result { () throws(StoreError) in
                try queue.read { file throws(StoreError) in try file.read(rows) }
            })
    }

    /// Holds the present state of both files. Nothing is committed to either between the two.
    public func snapshot() throws(StoreError) -> any StoreSnapshot {
        let files = open()
        guard snapshotUnderWay == nil else {
            throw StoreError(.busy, "A copy of the store is being made already: wait for its end.")
        }
        try believe(files.registry)
        try believeQueue()
        let snapshot = try files.registry.read { registry throws(StoreError) in
            try files.queue.read { queue throws(StoreError) in
                try Snapshot(registry: registry.database, queue: queue.database)
            }
        }
        snapshotUnderWay = snapshot
        return snapshot
    }

    /// Copies the rest of the logs, closes the files and releases the directory. Releasing the store does the same.
    public func close() {
        files?.registry.close()
        files?.queue.close()
        files = nil
    }

    /// Marks these rows as if the disk had failed while they were committed. For tests.
    func doubt(_ rows: [QueueRow]) { doubtfulRows += rows }

    /// The queue's connection. For tests.
    var queueDatabase: Database? { files?.queue.file.database }

    private func open() -> Files {
        guard let files else { preconditionFailure("nothing is asked of a closed store") }
        return files
    }
}
