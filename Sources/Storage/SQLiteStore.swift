public import Notifications

/// The store that keeps everything in two SQLite files in one directory: `registry.sqlite` and
/// `queue.sqlite`.
///
/// It completes before each call returns. It belongs to one thread at a time, the ledger's; only the copying
/// of the write-ahead logs into the files happens on another.
public final class SQLiteStore: Store {
    /// Nil once closed.
    private(set) var files: Files?

    struct Files {
        let registry: RegistryFile
        let registryCheckpointer: Checkpointer
        let queue: QueueFile
        let queueCheckpointer: Checkpointer
        /// Given up last: the directory is ours until its files are closed.
        let directory: OwnedDirectory
    }

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
        let registry = try RegistryFile(path: path + "/registry.sqlite")
        let queue = try QueueFile(path: path + "/queue.sqlite")
        files = Files(
            registry: registry,
            registryCheckpointer: try Checkpointer(of: registry.database, thresholdPages: logPages, log: log),
            queue: queue,
            queueCheckpointer: try Checkpointer(of: queue.database, thresholdPages: logPages, log: log),
            directory: directory
        )
    }

    deinit { close() }

    /// Everything in the registry.
    public func loadRegistry() throws(StoreError) -> Registry {
        try open().registry.load()
    }

    /// Visits every stored notification's entry in the order of rows, and answers the last row ever used.
    public func scanQueue(_ visit: (QueueEntry) -> Void) throws(StoreError) -> QueueRow {
        try open().queue.scan(visit)
    }

    /// Applies changes to the registry in order, all or none.
    public func apply(_ changes: [RegistryChange], completion: @escaping (Result<Void, StoreError>) -> Void) {
        let files = open()
        let result = Result { () throws(StoreError) in try files.registry.apply(changes) }
        completion(result)
        self.files?.registryCheckpointer.committed(on: files.registry.database)
    }

    /// Applies a batch to the queue, all or nothing.
    public func commit(_ batch: QueueBatch, completion: @escaping (Result<Void, StoreError>) -> Void) {
        let files = open()
        let result = Result { () throws(StoreError) in try files.queue.commit(batch) }
        completion(result)
        self.files?.queueCheckpointer.committed(on: files.queue.database)
    }

    /// The notifications at these rows, in the order asked for, without those that are not there.
    public func read(
        _ rows: [QueueRow], completion: @escaping (Result<[QueuedNotification], StoreError>) -> Void
    ) {
        let files = open()
        completion(Result { () throws(StoreError) in try files.queue.read(rows) })
    }

    /// Copies what is left in the logs, closes the files and gives the directory up; the end of the store
    /// does the same.
    public func close() {
        files?.registryCheckpointer.stop()
        files?.queueCheckpointer.stop()
        files = nil
    }

    private func open() -> Files {
        guard let files else { preconditionFailure("nothing is asked of a closed store") }
        return files
    }
}
