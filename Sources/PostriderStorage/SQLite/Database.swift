import CPostriderSQLite
import Glibc
public import PostriderNotifications

/// One connection to one SQLite file of ours, owned: it is closed when the last reference to it and to its
/// statements goes. Thread-confined.
///
/// Commits are durable when they return (write-ahead log, `synchronous=FULL`). SQLite never checkpoints a
/// commit by itself here; whoever commits calls ``checkpoint()`` or has a ``Checkpointer`` do it.
@safe public final class Database {
    /// Where the file lies.
    public let path: String
    /// Pages in the write-ahead log after the last commit on this connection.
    public var logPages: Int { connection.logPages }

    /// How many transactions have been committed on this connection.
    public private(set) var commits = 0
    /// Whether the disk has so little left that the log should be copied now: what it makes the file grow by is more
    /// than an eighth of the free space.
    public private(set) var isTight = false
    /// Pages that the file has with all that is committed; nil until the first transaction on an open connection.
    private var committedPages: Int64?
    /// Pages of the log when the free space was looked at last.
    private var logPagesSeen = 0
    /// So many pages later it is looked at again.
    private static let logPagesPerLook = 16

    /// Told at the end of each transaction whether its changes are made.
    public var whenTransactionEnds: ((_ isCommitted: Bool) -> Void)?

    private let connection: DatabaseConnection
    private let beginStatement: Statement
    private let commitStatement: Statement
    private let rollbackStatement: Statement
    private let pageCount: Statement

    /// Opens the file, and makes it where there is none, readable to its owner only. A file that is not of
    /// this schema, or of a newer version than this program knows, is refused and left as it is; an older one
    /// is brought up to date.
    public convenience init(path: String, schema: Schema) throws(StoreError) {
        try Self.makeWhole(path, schema)
        try self.init(opening: path)
        try verify(schema)
        // An earlier version kept the log's index there. The file is locked, so nobody uses it.
        unsafe _ = unlink(path + "-shm")
        try prepareFile(schema)
    }

    /// Has the file keep a log, and brings it up to date.
    func prepareFile(_ schema: Schema) throws(StoreError) {
        try execute("PRAGMA journal_mode=WAL")
        try upgrade(to: schema)
    }

    /// Another connection to the same file, for another thread.
    func sibling() throws(StoreError) -> sending Database {
        try Database(opening: path)
    }

    /// A connection to a file that is there.
    init(opening path: String) throws(StoreError) {
        self.path = path
        connection = try DatabaseConnection(opening: path)
        beginStatement = try Statement("BEGIN IMMEDIATE", on: connection)
        commitStatement = try Statement("COMMIT", on: connection)
        rollbackStatement = try Statement("ROLLBACK", on: connection)
        pageCount = try Statement("PRAGMA page_count", on: connection)
    }

    // What becomes of a file under which the disk has failed is ``TrustedFile``'s to say.

    /// Whether the disk has failed under the file: what it holds can be read, and every change fails.
    var isDoubtful: Bool {
        get { connection.isDoubtful }
        set { connection.isDoubtful = newValue }
    }

    /// Whether there is a connection.
    var isOpen: Bool { unsafe connection.handle != nil }

    /// Closes the connection, until it is opened again.
    func close(keepingLog keepsLog: Bool) { connection.close(keepingLog: keepsLog) }

    /// Opens it again. What was prepared works on.
    func open() throws(StoreError) {
        try connection.open()
        committedPages = nil
    }

    /// For SQLite's own calls.
    var handle: OpaquePointer? { unsafe connection.handle }

    /// Prepares one statement, to be kept and run many times.
    public func prepare(_ sql: String) throws(StoreError) -> Statement {
        try Statement(sql, on: connection)
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
            let before = if let committedPages { committedPages } else { try countPages() }
            try body()
            let pages = try requireRoom(beyond: before)
            try commitStatement.run()
            committedPages = pages
        } catch {
            // Some failures have rolled back already.
            if unsafe sqlite3_get_autocommit(handle) == 0 { try? rollbackStatement.run() }
            whenTransactionEnds?(false)
            throw error
        }
        commits += 1
        // A log that grows takes of what the file will need, also where it removes rows only.
        if abs(logPages - logPagesSeen) >= Self.logPagesPerLook { look(at: committedPages ?? 0) }
        whenTransactionEnds?(true)
    }

    /// Fails the transaction under way with ``StoreError/Kind/full`` if the file would have to grow by more than a
    /// quarter of the free space. A log that cannot be copied into its file can never begin anew: on a disk that it has
    /// filled itself nothing could be removed any more.
    ///
    /// - Returns: the pages of the file with this transaction.
    private func requireRoom(beyond committed: Int64) throws(StoreError) -> Int64 {
        let pages = try countPages()
        guard pages <= committed || look(at: pages) else { throw connection.failure(SQLITE_FULL) }
        return pages
    }

    private func countPages() throws(StoreError) -> Int64 {
        defer { pageCount.reset() }
        return try pageCount.step() ? pageCount.integer(0) : 0
    }

    /// Compares what the file has to grow by to so many pages with what the disk has left.
    ///
    /// - Returns: whether it leaves enough for the log, and for what a file system adds.
    @discardableResult
    private func look(at pages: Int64) -> Bool {
        let (growth, free) = (growth(pages), DiskSpace.free(at: path))
        isTight = growth > free / 8
        logPagesSeen = logPages
        return growth <= free / 4
    }

    /// Bytes by which the file is shorter than so many pages.
    private func growth(_ pages: Int64) -> Int {
        max(Int(pages) * WriteAheadLog.pageBytes - DiskSpace.length(of: path), 0)
    }

    /// Copies committed pages from the log into the file as far as that disturbs nobody. When all of them
    /// were copied the next commit starts the log anew.
    ///
    /// - Returns: whether all of them were.
    @discardableResult
    public func checkpoint() throws(StoreError) -> Bool {
        var (pages, copied): (CInt, CInt) = (0, 0)
        let code = unsafe sqlite3_wal_checkpoint_v2(
            handle, nil, SQLITE_CHECKPOINT_PASSIVE, &pages, &copied)
        // A commit is writing the log's header at this very moment, or somebody else copies: nothing is for now.
        guard code & 0xff != SQLITE_BUSY else { return false }
        try check(code)
        guard pages == copied else { return false }
        isTight = false
        connection.lacksRoom = false
        return true
    }

    /// Copies the log into the file after a change for which there was no room: the log then begins anew, within the
    /// length that it has. Does nothing if no change has failed so, or if the file cannot grow by as much as it must.
    ///
    /// - Returns: whether the change may succeed now.
    public func makeRoom() -> Bool {
        guard connection.lacksRoom, !connection.isDoubtful, let pages = try? countPages() else {
            return false
        }
        let growth = growth(pages)
        // The change that failed has written to the log as far as there was room.
        if growth > 0, logPages > 0 { WriteAheadLog.cut(path, toPages: logPages) }
        guard growth <= DiskSpace.free(at: path) else { return false }
        return (try? checkpoint()) ?? false
    }

    /// Copies everything that the log holds into the file, syncs the file, and empties the log.
    func emptyLog() throws(StoreError) {
        try check(unsafe sqlite3_wal_checkpoint_v2(handle, nil, SQLITE_CHECKPOINT_TRUNCATE, nil, nil))
    }

    /// From now on this connection sees what is committed at this moment, whatever others commit.
    func holdMoment() throws(StoreError) {
        try execute("BEGIN")
        _ = try number("SELECT count(*) FROM sqlite_schema")
    }

    // Opening.

    /// Makes the file where it is missing: SQLite would make it readable to others. An existing one is not
    /// touched, since closing a second descriptor of it would drop this process's locks on it.
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

    /// Runs every statement of a script.
    private func executeAll(_ script: String) throws(StoreError) {
        try check(unsafe sqlite3_exec(handle, script, nil, nil, nil))
    }

    /// Throws what a result code of this connection means.
    func check(_ code: CInt) throws(StoreError) { try connection.check(code) }

    /// The one number that a statement answers; 0 where it answers none.
    func number(_ sql: String) throws(StoreError) -> Int64 {
        let statement = try prepare(sql)
        defer { statement.reset() }
        return try statement.step() ? statement.integer(0) : 0
    }
}
