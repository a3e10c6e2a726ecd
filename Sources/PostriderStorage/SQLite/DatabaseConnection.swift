import CPostriderSQLite
import PostriderNotifications

/// The connection of a ``Database``, as its statements see it: it can be closed, and opened again under them.
@safe final class DatabaseConnection {
    let path: String
    /// Nil while it is closed, which it stays where it could not be opened again.
    private(set) var handle: OpaquePointer?
    /// Rises whenever it is opened: what was prepared for an earlier one is prepared anew.
    private(set) var generation = 0
    /// Whether the disk has failed under it: what it holds can be read, and nothing is changed through it.
    var isDoubtful = false
    /// Pages in the write-ahead log after the last commit.
    fileprivate(set) var logPages = 0
    /// Whether a change has failed for want of room, and the log was not copied since.
    var lacksRoom = false

    /// SQLite's access to files in which one process owns a database, and may have several connections to it. It locks
    /// the file for as long as one of them is open, and keeps the index of the write-ahead log on the heap. Else that
    /// index is a mapped file (`-shm`): where a full disk has no block for one of its pages, touching the page ends the
    /// process with SIGBUS, and reading needs room, too.
    private static let fileSystem = "unix-excl"

    /// How long a call waits for another connection's lock.
    private static let busyMilliseconds: CInt = 2000
    /// A log that grew beyond this many bytes is cut back when it starts anew. Overwriting a log is cheaper
    /// than growing it.
    private static let keptLogBytes = 64 << 20

    init(opening path: String) throws(StoreError) {
        self.path = path
        try open()
    }

    deinit { close() }

    /// Opens the file again.
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
            // What may not be written to SQLite opens for reading: every change would fail, one by one.
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

    /// Closes it, with the statements that were prepared for it.
    ///
    /// - Parameter keepsLog: whether the log is left as it is, instead of what is in it being copied. That is for a
    ///   file that is not believed any more: opening it again then finds the whole log and copies all of it.
    func close(keepingLog keepsLog: Bool = false) {
        guard let open = unsafe handle else { return }
        if keepsLog { unsafe _ = csqlite_keep_log_on_close(open) }
        while let statement = unsafe sqlite3_next_stmt(open, nil) { unsafe sqlite3_finalize(statement) }
        unsafe sqlite3_wal_hook(open, nil, nil)
        unsafe sqlite3_close_v2(open)
        unsafe handle = nil
        generation += 1
    }

    /// Throws what a result code of this connection means.
    func check(_ code: CInt) throws(StoreError) {
        guard code == SQLITE_OK else { throw failure(code) }
    }

    /// What a result code of this connection means. A disk that has failed is not believed any more.
    func failure(_ code: CInt) -> StoreError {
        let message = unsafe String(cString: handle == nil ? sqlite3_errstr(code) : sqlite3_errmsg(handle))
        let systemCode = unsafe sqlite3_system_errno(handle)
        let failure = StoreError(code: code, message: message, path: path, systemCode: systemCode)
        if failure.kind == .inputOutput { isDoubtful = true }
        if failure.kind == .full { lacksRoom = true }
        return failure
    }

    /// Why nothing is changed through it for now.
    var doubt: StoreError {
        StoreError(
            .inputOutput, "The disk has failed under \(path), which is not yet in use again: check the disk.")
    }
}
