public import PostriderNotifications

/// A database file with the statements that serve it.
public protocol DatabaseFile: AnyObject {
    /// Its connection.
    var database: Database { get }
    /// Opens the file, and makes it where there is none.
    init(path: String) throws(StoreError)
    /// Reads anew whatever is kept in memory of it: the file was closed and opened again, and may hold changes that
    /// had failed.
    func reload() throws(StoreError)
}

/// A database file that is believed until the disk fails under it.
///
/// After a failed write or sync nobody knows what is on the disk. The kernel takes pages that it could not
/// write for written, so that the next sync succeeds without them; and SQLite takes what it has copied from
/// the log for copied. So nothing more is committed through the old connections: before the next change the
/// log is written once more and synced, and the file is closed and opened again. That reads the log from its
/// beginning, by its checksums; all of it is then copied into the file and synced, and
/// the log begins anew. Only when all of that succeeds is the file believed again. Until then every change
/// fails, and reading goes on: what was committed is there.
///
/// A file that is opened for the first time has its log written once more, too: the process before this one
/// may have ended between the failure and the mending.
public final class TrustedFile<File: DatabaseFile> {
    /// The file. It can be read at any time; what fails where it could not be opened again.
    public let file: File
    private let thresholdPages: Int?
    private let log: Log
    private var checkpointer: Checkpointer?
    private var reserve = LogReserve()

    /// Opens the file, and makes it where there is none. Its log is copied into it from `thresholdPages` pages
    /// on, by a thread of its own; nil: whoever commits does so.
    public init(path: String, thresholdPages: Int?, log: Log) throws(StoreError) {
        self.thresholdPages = thresholdPages
        self.log = log
        try WriteAheadLog.writeAnew(of: path)
        file = try File(path: path)
        try watchLog()
    }

    private var database: Database { file.database }

    /// Whether the file has to be opened anew before the next change.
    public var needsRenewal: Bool {
        database.isDoubtful || !database.isOpen || checkpointer.map(\.hasFailed) ?? (thresholdPages != nil)
    }

    /// Lets `body` read.
    func read<Value>(_ body: (File) throws(StoreError) -> Value) throws(StoreError) -> Value {
        if !database.isOpen { try open() }
        return try body(file)
    }

    /// Lets `body` change the file, which is believed: ``renew()`` comes first where it is not. The thread that copies
    /// the log may meet a failure at any time; what is committed before that is seen is in the log, which is synced.
    ///
    /// A change for which there is no room is tried once more when the log has been copied and begins anew.
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

    /// Looks after the log, behind a change.
    func maintain() {
        guard !database.isDoubtful, let checkpointer else { return }
        checkpointer.committed(on: database)
        let used = WriteAheadLog.byteCount(pages: database.logPages)
        if let length = reserve.length(afterBytes: used, free: free) {
            WriteAheadLog.lengthen(database.path, to: length)
        }
    }

    /// Bytes that its disk has left.
    private func free() -> Int { DiskSpace.free(at: database.path) }

    /// Makes the log's file longer by a piece of what it may come to. False: it is long enough, or
    /// the file is not believed; a log that begins anew behind that grows with what is committed.
    func prepare() -> Bool {
        guard !needsRenewal, let thresholdPages,
            let length = reserve.piece(of: WriteAheadLog.byteCount(pages: thresholdPages), free: free())
        else { return false }
        WriteAheadLog.lengthen(database.path, to: length, isSynced: true)
        return true
    }

    /// Closes the file, opens it again, and writes everything that its log holds once more. Nobody else may
    /// have it open: only with its last connection does what SQLite remembers of the log go.
    public func renew() throws(StoreError) {
        database.isDoubtful = true
        // First: while this fails, what is open can be read.
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

    /// Closes the file; where it is believed, what is left in the log is copied first.
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
