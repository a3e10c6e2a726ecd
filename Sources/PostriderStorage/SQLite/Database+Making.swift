import CPostriderSQLite
import Glibc
import PostriderNotifications

extension Database {
    /// Creates the file if it is missing or empty: under a temporary name first, which it keeps until all of it is on
    /// the disk. The remains of an interrupted creation are removed.
    ///
    /// A file that is created under its final name can be partly on the disk after a failed sync and a power failure,
    /// if the process that saw the failure has ended: then nobody knows that the first page is only in memory.
    static func makeWhole(_ path: String, _ schema: Schema) throws(StoreError) {
        guard !isMade(path) else { return }
        let passage = path + ".new"
        remove(passage)
        do throws(StoreError) {
            try makeFile(passage)
            let database = try Database(opening: passage)
            try database.prepareFile(schema)
            try database.emptyLog()
            database.close(keepingLog: false)
            // A log without its database file belongs to a file that was removed.
            for ending in endings.dropFirst() { unsafe _ = unlink(path + ending) }
            guard unsafe rename(passage, path) == 0 else {
                let code = errno
                throw StoreError(
                    systemCode: code, "The file \(path) cannot be created", remedy: "check its directory")
            }
        } catch {
            remove(passage)
            throw error
        }
        OwnedDirectory.sync(path + "/..")
    }

    /// Whether the file exists and is not empty.
    static func isMade(_ path: String) -> Bool {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return false }
        let hasJournal = unsafe access(path + "-journal", F_OK) == 0
        return status.st_size > 0 || hasJournal
    }

    private static let endings = ["", "-wal", "-shm", "-journal"]

    private static func remove(_ path: String) {
        for ending in endings { unsafe _ = unlink(path + ending) }
    }
}
