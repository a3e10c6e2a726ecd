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
    public var logPages: Int { connection.logPages }

    /// Told at the end of each transaction whether its changes are made.
    public var whenTransactionEnds: ((_ isCommitted: Bool) -> Void)?

    private let connection: DatabaseConnection
    private let beginStatement: Statement
    private let commitStatement: Statement
    private let rollbackStatement: Statement

    /// Opens the file, and makes it where there is none, readable to its owner only. A file that is not of
    /// this schema, or of a newer version than this program knows, is refused and left as it is; an older one
    /// is brought up to date.
    public convenience init(path: String, schema: Schema) throws(StoreError) {
        try Self.makeWhole(path, schema)
        try self.init(opening: path)
        try verify(schema)
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
    func open() throws(StoreError) { try connection.open() }

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
            try body()
            try commitStatement.run()
        } catch {
            // Some failures have rolled back already.
            if unsafe sqlite3_get_autocommit(handle) == 0 { try? rollbackStatement.run() }
            whenTransactionEnds?(false)
            throw error
        }
        whenTransactionEnds?(true)
    }

    /// Copies committed pages from the log into the file as far as that disturbs nobody. When all of them
    /// were copied the next commit starts the log anew.
    public func checkpoint() throws(StoreError) {
        let code = unsafe sqlite3_wal_checkpoint_v2(handle, nil, SQLITE_CHECKPOINT_PASSIVE, nil, nil)
        // A commit is writing the log's header at this very moment, or somebody else copies: nothing is for now.
        if code & 0xff != SQLITE_BUSY { try check(code) }
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
