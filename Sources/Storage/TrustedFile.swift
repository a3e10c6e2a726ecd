import Notifications

/// A database file of the store, with the statements that serve it.
protocol DatabaseFile: AnyObject {
    var database: Database { get }
    init(path: String) throws(StoreError)
}

extension RegistryFile: DatabaseFile {}
extension QueueFile: DatabaseFile {}

/// A file of the store that is believed until the disk fails under it.
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
final class TrustedFile<File: DatabaseFile> {
    private let path: String
    private let thresholdPages: Int
    private let log: Log
    /// Nil where the last attempt to open the file again has failed.
    private var held: (file: File, checkpointer: Checkpointer)?
    private var isDoubtful = false

    /// Opens the file, and makes it where there is none. Its log is copied into it from `thresholdPages` pages
    /// on.
    init(path: String, thresholdPages: Int, log: Log) throws(StoreError) {
        self.path = path
        self.thresholdPages = thresholdPages
        self.log = log
        try WriteAheadLog.writeAnew(of: path)
        held = try open()
    }

    /// The connection, where there is one.
    var database: Database? { held?.file.database }

    /// Whether the file has to be opened anew before the next change.
    var needsRenewal: Bool { isDoubtful || held.map(\.checkpointer.hasFailed) ?? true }

    /// Lets `body` read.
    func read<Value>(_ body: (File) throws(StoreError) -> Value) throws(StoreError) -> Value {
        if held == nil { held = try open() }
        guard let file = held?.file else { preconditionFailure("it was opened above") }
        do throws(StoreError) {
            return try body(file)
        } catch {
            if error.kind == .inputOutput { isDoubtful = true }
            throw error
        }
    }

    /// Lets `body` change the file, which is believed: ``renew()`` comes first where it is not.
    func change(_ body: (File) throws(StoreError) -> Void) throws(StoreError) {
        precondition(!needsRenewal, "a file that is in doubt is opened anew before it is changed")
        try read(body)
    }

    /// To be called when everybody has been told of a change: the log may be due.
    func changed() {
        guard !isDoubtful, let held else { return }
        held.checkpointer.committed(on: held.file.database)
    }

    /// Closes the file, opens it again, and writes everything that its log holds once more. Nobody else may
    /// have it open: only with its last connection does what SQLite remembers of the log go.
    func renew() throws(StoreError) {
        isDoubtful = true
        // First: while this fails, what is open can be read.
        try WriteAheadLog.writeAnew(of: path)
        close()
        let held = try open()
        self.held = held
        try held.file.database.emptyLog()
        isDoubtful = false
        log.notice(
            "\(path) was closed and opened again, and what its log held is written anew: it is in use again.")
    }

    /// Closes the file; where it is believed, what is left in the log is copied first.
    func close() {
        held?.checkpointer.stop()
        if needsRenewal { held?.file.database.keepLogOnClose() }
        held = nil
    }

    private func open() throws(StoreError) -> (file: File, checkpointer: Checkpointer) {
        let file = try File(path: path)
        return (file, try Checkpointer(of: file.database, thresholdPages: thresholdPages, log: log))
    }
}
