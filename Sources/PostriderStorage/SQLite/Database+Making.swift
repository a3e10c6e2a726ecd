import CPostriderSQLite
import Glibc
import PostriderNotifications

extension Database {
    /// Makes a file where there is none, or an empty one: under a name of passage, until all of it is on the disk.
    /// What is left of one whose making was interrupted is nobody's, and makes way.
    ///
    /// A file that is made in its place can be there by half after a failed sync and a power cut, when the process that
    /// has seen the failure has ended: nobody knows then that its first page is in memory only.
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
            // A log that lies beside no file is of one that was taken away.
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

    /// Whether there is a file with something in it.
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
