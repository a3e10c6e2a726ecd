public import PostriderNotifications

/// A database file with its prepared statements.
public protocol DatabaseFile: AnyObject {
    /// The connection to the file.
    var database: Database { get }
    /// Opens the file, and creates it if it is missing.
    init(path: String) throws(StoreError)
    /// Reads anew what is kept of the file in memory. It is called after the file was closed and reopened, because
    /// the file may hold changes whose commit had failed.
    func reload() throws(StoreError)
}

/// A database file that is used until its disk fails, and then recovered before the next change.
///
/// After a failed write or sync, nobody knows what is on the disk. The kernel marks pages that it could not write as
/// clean, so the next sync succeeds without them; and SQLite considers the pages copied that it has copied from the
/// log. So nothing more is committed through the old connections. Before the next change, the log is rewritten with
/// its own bytes and synced, and the file is closed and reopened. Opening reads the log from its beginning and
/// verifies its checksums; then all of it is copied into the file, the file is synced, and the log restarts. Only
/// when all of that has succeeded is the file trusted again. Until then every change fails. Reading goes on, because
/// what was committed is there.
///
/// The log of a file is also rewritten when the file is first opened, because the previous process may have ended
/// between the failure and the recovery.
public final class TrustedFile<File: DatabaseFile> {
    /// The file. It can be read at any time; reads fail if the file could not be reopened.
    public let file: File
    private let thresholdPages: Int?
    private let log: Log
    private var checkpointer: Checkpointer?
    private var reserve = LogReserve()

    /// Opens the file, and creates it if it is missing. A thread of its own copies the log into the file from
    /// `thresholdPages` pages on; if that is nil, the committing thread does.
    public init(path: String, thresholdPages: Int?, log: Log) throws(StoreError) {
        self.thresholdPages = thresholdPages
        self.log = log
        try WriteAheadLog.writeAnew(of: path)
        file = try File(path: path)
        try watchLog()
    }

    private var database: Database { file.database }

    /// Whether the file has to be recovered before the next change.
    public var needsRenewal: Bool {
        database.isDoubtful || !database.isOpen || checkpointer.map(\.hasFailed) ?? (thresholdPages != nil)
    }

    /// Calls `body`, which may read the file.
    func read<Value>(_ body: (File) throws(StoreError) -> Value) throws(StoreError) -> Value {
        if !database.isOpen { try open() }
        return try body(file)
    }

    /// Calls `body`, which may change the file. The file must not need recovery; ``renew()`` does that. The thread
    /// that copies the log may meet an error at any time; what is committed before this thread sees the error is in
    /// the log, which is synced.
    ///
    /// A change that fails for lack of space is tried once more after the log has been copied and restarted.
    func change(_ body: (File) throws(StoreError) -> Void) throws(StoreError) {
        precondition(
            database.isOpen && !database.isDoubtful,
            "a file that is in doubt is opened anew before it is changed")
        do throws(StoreError) {
            try body(file)
        } catch {
            guard error.kind == .full, database.makeRoom() else { throw error }
            try body(file)
        }
    }

    /// Maintains the log after a change: copies it into the file if it is long, and extends its file ahead of use.
    func maintain() {
        guard !database.isDoubtful, let checkpointer else { return }
        checkpointer.committed(on: database)
        let used = WriteAheadLog.byteCount(pages: database.logPages)
        if let length = reserve.length(afterBytes: used, free: free) {
            WriteAheadLog.lengthen(database.path, to: length)
        }
    }

    /// The free bytes on the disk of the file.
    private func free() -> Int { DiskSpace.free(at: database.path) }

    /// Extends the log's file by one piece towards its final length. Returns false if it is long enough, or if the
    /// file needs recovery.
    func prepare() -> Bool {
        guard !needsRenewal, let thresholdPages,
            let length = reserve.piece(of: WriteAheadLog.byteCount(pages: thresholdPages), free: free())
        else { return false }
        WriteAheadLog.lengthen(database.path, to: length, isSynced: true)
        return true
    }

    /// Recovers the file: closes and reopens it, and copies everything in its log again. No other connection may be
    /// open, because SQLite forgets the state of the log only with its last connection.
    public func renew() throws(StoreError) {
        database.isDoubtful = true
        // This comes first because the open connection stays readable if it fails.
        try WriteAheadLog.writeAnew(of: database.path)
        close()
        try open()
        try database.emptyLog()
        database.isDoubtful = false
        log.notice(
            "\(database.path) was closed and opened again, and its write-ahead log written again: "
                + "it is in use again."
        )
    }

    /// Closes the file. The rest of the log is copied into it first, unless the file needs recovery.
    func close() {
        let isDoubtful = needsRenewal
        checkpointer?.stop()
        checkpointer = nil
        database.close(keepingLog: isDoubtful)
    }

    private func open() throws(StoreError) {
        try database.open()
        try file.reload()
        try watchLog()
    }

    private func watchLog() throws(StoreError) {
        guard let thresholdPages else { return }
        checkpointer = try Checkpointer(of: database, thresholdPages: thresholdPages, log: log)
        reserve = LogReserve()
    }
}
