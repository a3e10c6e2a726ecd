import CSQLite
import Glibc
public import Notifications

/// One connection to one SQLite file of ours, owned: it is closed when the last reference to it and to its
/// statements goes. Thread-confined.
///
/// Commits are durable when they return (write-ahead log, `synchronous=FULL`). SQLite never checkpoints a
/// commit by itself here; whoever commits calls ``checkpoint()`` or has a ``Checkpointer`` do it.
@safe public final class Database {
    /// Where the file lies.
    public let path: String
    /// Pages in the write-ahead log after the last commit on this connection.
    public private(set) var logPages = 0

    let handle: OpaquePointer
    private let beginStatement: Statement
    private let commitStatement: Statement
    private let rollbackStatement: Statement

    /// How long a call waits for another process's lock.
    private static let busyMilliseconds: CInt = 2000

    /// Opens the file, and makes it where there is none, readable to its owner only. A file that is not of
    /// this schema, or of a newer version than this program knows, is refused and left as it is; an older one
    /// is brought up to date.
    public convenience init(path: String, schema: Schema) throws(StoreError) {
        try Self.makeFile(path)
        try self.init(opening: path)
        try verify(schema)
        try execute("PRAGMA journal_mode=WAL")
        try upgrade(to: schema)
    }

    /// Another connection to the same file, for another thread.
    func sibling() throws(StoreError) -> sending Database {
        try Database(opening: path)
    }

    /// A connection to a file that is there.
    init(opening path: String) throws(StoreError) {
        var handle: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
        let code = unsafe sqlite3_open_v2(path, &handle, flags, nil)
        guard code == SQLITE_OK, let handle = unsafe handle else {
            let message = unsafe String(cString: sqlite3_errstr(code))
            unsafe sqlite3_close_v2(handle)
            throw StoreError(code: code, message: message, path: path)
        }
        do throws(StoreError) {
            unsafe sqlite3_busy_timeout(handle, Self.busyMilliseconds)
            for setting in [
                "synchronous=FULL", "wal_autocheckpoint=0", "journal_size_limit=\(Self.keptLogBytes)",
                "temp_store=MEMORY", "cache_size=-16384", "trusted_schema=OFF",
            ] {
                try unsafe Statement("PRAGMA \(setting)", connection: handle, path: path).run()
            }
            beginStatement = try unsafe Statement("BEGIN IMMEDIATE", connection: handle, path: path)
            commitStatement = try unsafe Statement("COMMIT", connection: handle, path: path)
            rollbackStatement = try unsafe Statement("ROLLBACK", connection: handle, path: path)
        } catch {
            unsafe sqlite3_close_v2(handle)
            throw error
        }
        unsafe self.handle = handle
        self.path = path
        unsafe sqlite3_wal_hook(
            handle,
            { context, _, _, pages in
                guard let context = unsafe context else { return SQLITE_OK }
                unsafe Unmanaged<Database>.fromOpaque(context).takeUnretainedValue().logPages = Int(pages)
                return SQLITE_OK
            },
            Unmanaged.passUnretained(self).toOpaque()
        )
    }

    deinit {
        unsafe sqlite3_wal_hook(handle, nil, nil)
        unsafe sqlite3_close_v2(handle)
    }

    /// A log that grew beyond this many bytes is cut back when it starts anew. Overwriting a log is cheaper
    /// than growing it.
    private static let keptLogBytes = 64 << 20

    /// Prepares one statement, to be kept and run many times.
    public func prepare(_ sql: String) throws(StoreError) -> Statement {
        try unsafe Statement(sql, connection: handle, path: path)
    }

    /// Runs one statement once.
    public func execute(_ sql: String) throws(StoreError) {
        try prepare(sql).run()
    }

    /// Runs the body in one transaction: when this returns, its changes are durable; when it throws, none of
    /// them is made.
    public func transaction(_ body: () throws(StoreError) -> Void) throws(StoreError) {
        try beginStatement.run()
        do throws(StoreError) {
            try body()
            try commitStatement.run()
        } catch {
            // Some failures have rolled back already.
            if unsafe sqlite3_get_autocommit(handle) == 0 { try? rollbackStatement.run() }
            throw error
        }
    }

    /// Copies committed pages from the log into the file as far as that disturbs nobody. When all of them
    /// were copied the next commit starts the log anew.
    public func checkpoint() throws(StoreError) { try checkpoint(SQLITE_CHECKPOINT_PASSIVE) }

    /// Copies everything that the log holds into the file, syncs the file, and empties the log.
    func emptyLog() throws(StoreError) { try checkpoint(SQLITE_CHECKPOINT_TRUNCATE) }

    private func checkpoint(_ mode: CInt) throws(StoreError) {
        try check(unsafe sqlite3_wal_checkpoint_v2(handle, nil, mode, nil, nil))
    }

    /// Has the end of this connection leave the log as it is, instead of copying what is in it. For a file
    /// that is not believed any more: opening it again then finds the whole log and copies all of it.
    func keepLogOnClose() { unsafe _ = csqlite_keep_log_on_close(handle) }

    /// From now on this connection sees what is committed at this moment, whatever others commit.
    func holdMoment() throws(StoreError) {
        try execute("BEGIN")
        _ = try number("SELECT count(*) FROM sqlite_schema")
    }

    // Opening.

    /// Makes the file where it is missing: SQLite would make it readable to others. An existing one is not
    /// touched, since closing a second descriptor of it would drop this process's locks on it.
    static func makeFile(_ path: String) throws(StoreError) {
        let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        let code = errno
        if descriptor >= 0 {
            close(descriptor)
        } else if code != EEXIST {
            throw StoreError(
                systemCode: code, "The file \(path) cannot be created", remedy: "check its directory"
            )
        }
    }

    /// Refuses a file of another program or of a newer version, before anything is written to it.
    private func verify(_ schema: Schema) throws(StoreError) {
        let identifier = try number("PRAGMA application_id")
        let version = try number("PRAGMA user_version")
        let isEmpty = try number("SELECT count(*) FROM sqlite_schema") == 0
        let isNew = isEmpty && identifier == 0 && version == 0
        guard isNew || identifier == Int64(schema.applicationIdentifier) else {
            throw StoreError(
                .unusable,
                "\(path) belongs to another program: move it away or name another place."
            )
        }
        guard version <= Int64(schema.version) else {
            throw StoreError(
                .unusable,
                "\(path) was written by a newer version (its schema is \(version), this program knows "
                    + "\(schema.version)): run that version."
            )
        }
    }

    private func upgrade(to schema: Schema) throws(StoreError) {
        let version = Int(try number("PRAGMA user_version"))
        guard version < schema.version else { return }
        try transaction { () throws(StoreError) in
            try execute("PRAGMA application_id=\(schema.applicationIdentifier)")
            for step in schema.steps[version...] {
                try executeAll(step)
            }
            try execute("PRAGMA user_version=\(schema.version)")
        }
    }

    /// Runs every statement of a script.
    private func executeAll(_ script: String) throws(StoreError) {
        try check(unsafe sqlite3_exec(handle, script, nil, nil, nil))
    }

    /// Throws what a result code of this connection means.
    func check(_ code: CInt) throws(StoreError) {
        guard code == SQLITE_OK else {
            throw unsafe StoreError(code: code, message: String(cString: sqlite3_errmsg(handle)), path: path)
        }
    }

    /// The one number that a statement answers; 0 where it answers none.
    func number(_ sql: String) throws(StoreError) -> Int64 {
        let statement = try prepare(sql)
        defer { statement.reset() }
        return try statement.step() ? statement.integer(0) : 0
    }
}
