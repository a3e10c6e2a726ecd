import CPostriderSQLite
import Glibc
public import PostriderNotifications

/// One connection to one SQLite file. It is closed when the last reference to it and to its statements is released.
/// It is confined to one thread.
///
/// Commits are durable when they return (write-ahead log, `synchronous=FULL`). SQLite does not checkpoint by itself
/// here: the committing code calls ``checkpoint()`` or uses a ``Checkpointer``.
@safe public final class Database {
    /// The path of the file.
    public let path: String
    /// The number of pages in the write-ahead log after the last commit of this connection.
    public var logPages: Int { connection.logPages }

    /// The number of transactions that were committed on this connection.
    public private(set) var commits = 0
    /// Whether the log should be copied now because free space is low: the growth of the file that the log will cause
    /// exceeds an eighth of the free space.
    public private(set) var isTight = false
    /// The number of pages of the file with all committed changes; nil until the first transaction of an open
    /// connection.
    private var committedPages: Int64?
    /// The number of pages in the log when the free space was last read.
    private var logPagesSeen = 0
    /// The free space is read again when the log has changed by this many pages.
    private static let logPagesPerLook = 16

    /// Called at the end of each transaction with whether its changes were committed.
    public var whenTransactionEnds: ((_ isCommitted: Bool) -> Void)?

    private let connection: DatabaseConnection
    private let beginStatement: Statement
    private let commitStatement: Statement
    private let rollbackStatement: Statement
    private let pageCount: Statement

    /// Opens the file, and creates it with mode 0600 if it is missing. A file of another schema or of a newer version
    /// is refused and left unchanged; a file of an older version is migrated.
    public convenience init(path: String, schema: Schema) throws(StoreError) {
        try Self.makeWhole(path, schema)
        try self.init(opening: path)
        try verify(schema)
        // Earlier versions kept the index of the log in this file. The database is locked, so no process uses it.
        unsafe _ = unlink(path + "-shm")
        try prepareFile(schema)
    }

    /// Switches the file to write-ahead logging, and migrates it to the newest version.
    func prepareFile(_ schema: Schema) throws(StoreError) {
        try execute("PRAGMA journal_mode=WAL")
        try upgrade(to: schema)
    }

    /// Opens another connection to the same file, for another thread.
    func sibling() throws(StoreError) -> sending Database {
        try Database(opening: path)
    }

    /// Opens a connection to an existing file.
    init(opening path: String) throws(StoreError) {
        self.path = path
        connection = try DatabaseConnection(opening: path)
        beginStatement = try Statement("BEGIN IMMEDIATE", on: connection)
        commitStatement = try Statement("COMMIT", on: connection)
        rollbackStatement = try Statement("ROLLBACK", on: connection)
        pageCount = try Statement("PRAGMA page_count", on: connection)
    }

    // ``TrustedFile`` decides what happens to a file after its disk has failed.

    /// Whether the disk has failed, so that the file needs recovery: it can be read, and every change fails.
    var isDoubtful: Bool {
        get { connection.isDoubtful }
        set { connection.isDoubtful = newValue }
    }

    /// Whether the connection is open.
    var isOpen: Bool { unsafe connection.handle != nil }

    /// Closes the connection. `open()` reopens it.
    func close(keepingLog keepsLog: Bool) { connection.close(keepingLog: keepsLog) }

    /// Reopens the connection. Prepared statements continue to work.
    func open() throws(StoreError) {
        try connection.open()
        committedPages = nil
    }

    /// The handle for SQLite's functions.
    var handle: OpaquePointer? { unsafe connection.handle }

    /// Prepares one statement, which can be run many times.
    public func prepare(_ sql: String) throws(StoreError) -> Statement {
        try Statement(sql, on: connection)
    }

    /// Runs one statement once.
    public func execute(_ sql: String) throws(StoreError) {
        try prepare(sql).run()
    }

    /// Runs the body in one transaction. When this returns, the changes are durable; when it throws, none of them is
    /// made.
    public func transaction(_ body: () throws(StoreError) -> Void) throws(StoreError) {
        try beginStatement.run()
        do throws(StoreError) {
            let before = if let committedPages { committedPages } else { try countPages() }
            try body()
            let pages = try requireRoom(beyond: before)
            try commitStatement.run()
            committedPages = pages
        } catch {
            // SQLite rolls back by itself after some errors.
            if unsafe sqlite3_get_autocommit(handle) == 0 { try? rollbackStatement.run() }
            whenTransactionEnds?(false)
            throw error
        }
        commits += 1
        // A log that grows uses up space which the file will need, even if it only removes rows.
        if abs(logPages - logPagesSeen) >= Self.logPagesPerLook { look(at: committedPages ?? 0) }
        whenTransactionEnds?(true)
    }

    /// Fails the current transaction with ``StoreError/Kind/full`` if the file would have to grow by more than a
    /// quarter of the free space. A log that cannot be copied into its file cannot restart; if it filled the disk,
    /// not even removing rows would succeed.
    ///
    /// - Returns: the number of pages of the file including this transaction.
    private func requireRoom(beyond committed: Int64) throws(StoreError) -> Int64 {
        let pages = try countPages()
        guard pages <= committed || look(at: pages) else { throw connection.failure(SQLITE_FULL) }
        return pages
    }

    private func countPages() throws(StoreError) -> Int64 {
        defer { pageCount.reset() }
        return try pageCount.step() ? pageCount.integer(0) : 0
    }

    /// Compares the growth of the file to `pages` pages with the free space of the disk.
    ///
    /// - Returns: whether enough space remains for the log and for the file system's own data.
    @discardableResult
    private func look(at pages: Int64) -> Bool {
        let (growth, free) = (growth(pages), DiskSpace.free(at: path))
        isTight = growth > free / 8
        logPagesSeen = logPages
        return growth <= free / 4
    }

    /// The bytes by which the file has to grow to hold `pages` pages.
    private func growth(_ pages: Int64) -> Int {
        max(Int(pages) * WriteAheadLog.pageBytes - DiskSpace.length(of: path), 0)
    }

    /// Copies committed pages from the log into the file as far as other connections permit (a passive checkpoint).
    /// If all pages were copied, the next commit restarts the log.
    ///
    /// - Returns: whether all pages were copied.
    @discardableResult
    public func checkpoint() throws(StoreError) -> Bool {
        var (pages, copied): (CInt, CInt) = (0, 0)
        let code = unsafe sqlite3_wal_checkpoint_v2(
            handle, nil, SQLITE_CHECKPOINT_PASSIVE, &pages, &copied)
        // Another connection writes the log's header or copies at this moment, so there is nothing to do now.
        guard code & 0xff != SQLITE_BUSY else { return false }
        try check(code)
        guard pages == copied else { return false }
        isTight = false
        connection.lacksRoom = false
        return true
    }

    /// Copies the log into the file after a change failed for lack of space, so that the log restarts within its
    /// present length. Does nothing if no change has failed in that way, or if the file cannot grow as it must.
    ///
    /// - Returns: whether the change may succeed now.
    public func makeRoom() -> Bool {
        guard connection.lacksRoom, !connection.isDoubtful, let pages = try? countPages() else {
            return false
        }
        let growth = growth(pages)
        // The failed change has filled the rest of the log's file.
        if growth > 0, logPages > 0 { WriteAheadLog.cut(path, toPages: logPages) }
        guard growth <= DiskSpace.free(at: path) else { return false }
        return (try? checkpoint()) ?? false
    }

    /// Copies the whole log into the file, syncs the file, and empties the log.
    func emptyLog() throws(StoreError) {
        try check(unsafe sqlite3_wal_checkpoint_v2(handle, nil, SQLITE_CHECKPOINT_TRUNCATE, nil, nil))
    }

    /// Starts a read transaction: from now on this connection sees what is committed at this moment, whatever is
    /// committed later.
    func holdMoment() throws(StoreError) {
        try execute("BEGIN")
        _ = try number("SELECT count(*) FROM sqlite_schema")
    }

    // MARK: - Opening

    /// Creates the file if it is missing, because SQLite would make it readable to other users. An existing file is
    /// not opened, because closing a second descriptor of it would release this process's locks on it.
    static func makeFile(_ path: String) throws(StoreError) {
        let descriptor = unsafe Glibc.open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        let code = errno
        if descriptor >= 0 {
            Glibc.close(descriptor)
        } else if code != EEXIST {
            throw StoreError(
                systemCode: code, "The file \(path) cannot be created", remedy: "check its directory"
            )
        }
    }

    /// Refuses a file of another program or of a newer version before anything is written to it.
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
        guard version >= 0 else {
            throw StoreError(
                .unusable, "\(path) is damaged (its schema is \(version)): put a backup in its place.")
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

    /// Runs every statement of an SQL script.
    private func executeAll(_ script: String) throws(StoreError) {
        try check(unsafe sqlite3_exec(handle, script, nil, nil, nil))
    }

    /// Throws the error for a result code of this connection, unless it means success.
    func check(_ code: CInt) throws(StoreError) { try connection.check(code) }

    /// The number that a statement returns; 0 if it returns no row.
    func number(_ sql: String) throws(StoreError) -> Int64 {
        let statement = try prepare(sql)
        defer { statement.reset() }
        return try statement.step() ? statement.integer(0) : 0
    }
}
