public import PostriderNotifications

/// The store that keeps everything in two SQLite files in one directory: `registry.sqlite` and
/// `queue.sqlite`.
///
/// It completes before each call returns. It belongs to one thread at a time, the ledger's; only the copying
/// of the write-ahead logs into the files happens on another.
public final class SQLiteStore: Store {
    /// Nil once closed.
    private var files: Files?

    private struct Files {
        let registry: TrustedFile<RegistryFile>
        let queue: TrustedFile<QueueFile>
        /// Given up last: the directory is ours until its files are closed.
        let directory: OwnedDirectory
    }

    /// The files that were changed since their logs were last looked after.
    private var unmaintained = (registry: false, queue: false)
    /// The snapshot that is being copied, if one is.
    private weak var snapshotUnderWay: Snapshot?
    /// Rows of batches under whose commit the disk has failed, that may be there all the same, and that were there when
    /// the log was read anew. The next batch removes them. A batch for which there was no room is not among them: the
    /// frame that would have committed it was not written.
    private(set) var doubtfulRows: [QueueRow] = []

    /// Opens the store in this directory, and makes it (mode 0700, files 0600) where there is none.
    ///
    /// Fails with ``StoreError/Kind/busy`` when another process owns the directory, and with
    /// ``StoreError/Kind/unusable`` when a file in it is not ours, damaged, or of a newer version.
    public convenience init(directory: String, log: Log) throws(StoreError) {
        // 32 MiB. A log that is overwritten is synced twice as fast as one that grows (165 against 370 µs
        // for a batch of 28 KB), so it should come round often; each round costs syncs of the file.
        try self.init(directory: directory, log: log, logPages: 8192)
    }

    /// Opens the store with write-ahead logs that are copied into their files from `logPages` pages of 4 KiB
    /// on.
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

    /// Refuses a queue whose registry has gone, which is made before it: with a new one every device is unknown, and
    /// what waits for it would be removed.
    private static func requireRegistry(in path: String, _ log: Log) throws(StoreError) {
        let (registry, queue) = (path + "/registry.sqlite", path + "/queue.sqlite")
        guard Database.isMade(queue), !Database.isMade(registry) else { return }
        // One that is none of ours is told as that.
        try TrustedFile<QueueFile>(path: queue, thresholdPages: nil, log: log).close()
        throw StoreError(
            .unusable,
            "\(registry) is gone or empty, and there is a queue for its devices beside it: put a backup "
                + "in the place of both, or move both away.")
    }

    /// Everything in the registry.
    public func loadRegistry() throws(StoreError) -> Registry {
        try open().registry.read { file throws(StoreError) in try file.load() }
    }

    /// Visits every stored notification's entry in the order of rows, and answers the last row ever used.
    public func scanQueue(_ visit: (QueueEntry) -> Void) throws(StoreError) -> QueueRow {
        try open().queue.read { file throws(StoreError) in try file.scan(visit) }
    }

    /// Applies changes to the registry in order, all or none. A failure of the disk leaves open which of the
    /// two: applied again, they are applied once.
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
                    try remove(batch.settled, from: queue)
                }
            })
        unmaintained.queue = true
    }

    /// Looks after the logs of what was changed: they may have to be copied into their files, and made longer. Where
    /// nobody calls this, the next change does so first.
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

    /// Removes rows by pieces where the log has no room for all at once: each changes the pages in which it lies.
    private func remove(_ rows: [QueueRow], from queue: TrustedFile<QueueFile>) throws(StoreError) {
        for start in stride(from: 0, to: rows.count, by: Self.rowsAtOnce) {
            var piece = QueueBatch()
            piece.settled = Array(rows[start..<min(start + Self.rowsAtOnce, rows.count)])
            try queue.change { file throws(StoreError) in try commit(piece, to: file) }
        }
    }

    private static let rowsAtOnce = 16

    /// Opens a file anew that is not believed any more.
    private func believe<File>(_ file: TrustedFile<File>) throws(StoreError) {
        guard file.needsRenewal else { return }
        snapshotUnderWay?.giveUp()
        try file.renew()
    }

    /// The same for the queue; of the rows in doubt only those are kept in mind that turn out to be there.
    private func believeQueue() throws(StoreError) {
        let queue = open().queue
        guard queue.needsRenewal else { return }
        try believe(queue)
        let rows = doubtfulRows
        doubtfulRows = try queue.read { file throws(StoreError) in try file.present(rows) }
    }

    /// Makes the queue's log as long as it may become, by and by: a log that grows is slower to sync.
    public func prepare() -> Bool { files?.queue.prepare() ?? false }

    /// The notifications at these rows, in the order asked for, without those that are not there.
    public func read(
        _ rows: [QueueRow], completion: @escaping (Result<[QueuedNotification], StoreError>) -> Void
    ) {
        let queue = open().queue
        completion(
            Result { () throws(StoreError) in
                try queue.read { file throws(StoreError) in try file.read(rows) }
            })
    }

    /// Holds on to what both files hold now: nothing is committed to either between the two.
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

    /// Copies what is left in the logs, closes the files and gives the directory up; the end of the store
    /// does the same.
    public func close() {
        files?.registry.close()
        files?.queue.close()
        files = nil
    }

    /// As if the disk had failed under these rows, for tests.
    func doubt(_ rows: [QueueRow]) { doubtfulRows += rows }

    /// The queue's connection, for tests.
    var queueDatabase: Database? { files?.queue.file.database }

    private func open() -> Files {
        guard let files else { preconditionFailure("nothing is asked of a closed store") }
        return files
    }
}
