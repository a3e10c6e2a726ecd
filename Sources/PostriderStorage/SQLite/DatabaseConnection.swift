import CPostriderSQLite
import PostriderNotifications

/// The connection behind a ``Database`` and its statements. It can be closed and reopened while they exist.
@safe final class DatabaseConnection {
    let path: String
    /// SQLite's handle; nil while the connection is closed. It stays nil if reopening failed.
    private(set) var handle: OpaquePointer?
    /// Counts how often the connection was opened. A statement of an earlier generation is prepared again before it
    /// runs.
    private(set) var generation = 0
    /// Whether the disk has failed: the file can be read, and nothing is changed through this connection.
    var isDoubtful = false
    /// The number of pages in the write-ahead log after the last commit.
    fileprivate(set) var logPages = 0
    /// Whether a change has failed for lack of space since the log was last copied.
    var lacksRoom = false

    /// The SQLite VFS for files that one process owns, with one or several connections. It locks the file while any
    /// connection is open, and keeps the index of the write-ahead log on the heap. The default VFS maps the index
    /// from a file (`-shm`): if a full disk has no block for one of its pages, touching the page ends the process
    /// with SIGBUS, and even reading needs free space.
    private static let fileSystem = "unix-excl"

    /// How long a call waits for another connection's lock, in milliseconds.
    private static let busyMilliseconds: CInt = 2000
    /// A log that grew beyond this many bytes is truncated when it restarts. Overwriting a log costs less than
    /// extending it.
    private static let keptLogBytes = 64 << 20

    init(opening path: String) throws(StoreError) {
        self.path = path
        try open()
    }

    deinit { close() }

    /// Opens the connection again.
    func open() throws(StoreError) {
        unsafe precondition(handle == nil, "an open connection is closed first")
        var opened: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
        let code = unsafe sqlite3_open_v2(path, &opened, flags, Self.fileSystem)
        unsafe handle = opened
        generation += 1
        logPages = 0
        do throws(StoreError) {
            guard code == SQLITE_OK else { throw failure(code) }
            // SQLite opens a file without write permission for reading only, and then each change would fail.
            guard unsafe sqlite3_db_readonly(handle, "main") == 0 else {
                let message = unsafe String(cString: sqlite3_errstr(SQLITE_READONLY))
                throw StoreError(code: SQLITE_READONLY, message: message, path: path)
            }
            unsafe sqlite3_busy_timeout(handle, Self.busyMilliseconds)
            let settings = [
                "synchronous=FULL", "wal_autocheckpoint=0", "journal_size_limit=\(Self.keptLogBytes)",
                "temp_store=MEMORY", "mmap_size=0", "cache_size=-16384", "trusted_schema=OFF",
            ]
            try check(unsafe sqlite3_exec(handle, settings.map { "PRAGMA \($0);" }.joined(), nil, nil, nil))
        } catch {
            close()
            throw error
        }
        unsafe sqlite3_wal_hook(
            handle,
            { context, _, _, pages in
                guard let context = unsafe context else { return SQLITE_OK }
                let connection = unsafe Unmanaged<DatabaseConnection>.fromOpaque(context)
                unsafe connection.takeUnretainedValue().logPages = Int(pages)
                return SQLITE_OK
            },
            Unmanaged.passUnretained(self).toOpaque()
        )
    }

    /// Closes the connection and finalises its statements.
    ///
    /// - Parameter keepsLog: whether the log is left as it is instead of being copied into the file. A file that
    ///   needs recovery is closed so, because opening it again then reads the whole log and copies all of it.
    func close(keepingLog keepsLog: Bool = false) {
        guard let open = unsafe handle else { return }
        if keepsLog { unsafe _ = csqlite_keep_log_on_close(open) }
        while let statement = unsafe sqlite3_next_stmt(open, nil) { unsafe sqlite3_finalize(statement) }
        unsafe sqlite3_wal_hook(open, nil, nil)
        unsafe sqlite3_close_v2(open)
        unsafe handle = nil
        generation += 1
    }

    /// Throws the error for a result code of this connection, unless it means success.
    func check(_ code: CInt) throws(StoreError) {
        guard code == SQLITE_OK else { throw failure(code) }
    }

    /// The error for a result code of this connection. An I/O error marks the file as in need of recovery.
    func failure(_ code: CInt) -> StoreError {
        let message = unsafe String(cString: handle == nil ? sqlite3_errstr(code) : sqlite3_errmsg(handle))
        let systemCode = unsafe sqlite3_system_errno(handle)
        let failure = StoreError(code: code, message: message, path: path, systemCode: systemCode)
        if failure.kind == .inputOutput { isDoubtful = true }
        if failure.kind == .full { lacksRoom = true }
        return failure
    }

    /// The error that every change gets while the file needs recovery.
    var doubt: StoreError {
        StoreError(
            .inputOutput, "The disk has failed under \(path), which is not yet in use again: check the disk.")
    }
}
