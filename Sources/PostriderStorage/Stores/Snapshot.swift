import CPostriderSQLite
import Glibc
import PostriderNotifications
import Synchronization

/// The state of a store's files at one moment: a connection to each that continues to see that moment. While a
/// snapshot exists, the logs grow by everything that is committed.
final class Snapshot: StoreSnapshot {
    private struct Source {
        let name: String
        let database: Database
    }

    /// The connections; nil after the copy was made or given up.
    private let sources: Mutex<[Source]?>
    private let isGivenUp = Atomic(false)

    /// Holds this moment of two databases. The caller commits nothing to them during this call.
    init(registry: Database, queue: Database) throws(StoreError) {
        let registry = Source(name: "registry.sqlite", database: try registry.sibling())
        let queue = Source(name: "queue.sqlite", database: try queue.sibling())
        try registry.database.holdMoment()
        try queue.database.holdMoment()
        sources = Mutex([registry, queue])
    }

    /// Closes the connections. A copy that is under way fails.
    func giveUp() {
        isGivenUp.store(true, ordering: .releasing)
        sources.withLock { $0 = nil }
    }

    func copy(to directory: String) throws(StoreError) {
        try sources.withLock { sources throws(StoreError) in
            guard let held = sources else { throw Self.interruption(directory) }
            sources = nil
            try Self.fill(directory) { partial throws(StoreError) in
                for source in held {
                    let path = partial + "/" + source.name
                    try copy(source.database, to: path)
                    // If an operator copies the backup over the files of a store, this empty log replaces the old log,
                    // which SQLite would otherwise apply to the copied file.
                    try Database.makeFile(path + "-wal")
                }
            }
        }
    }

    private func copy(_ source: Database, to path: String) throws(StoreError) {
        try Database.makeFile(path)
        let target = try Database(opening: path)
        guard let copying = unsafe sqlite3_backup_init(target.handle, "main", source.handle, "main") else {
            return try target.check(unsafe sqlite3_errcode(target.handle))
        }
        var code = SQLITE_OK
        while code == SQLITE_OK, !isGivenUp.load(ordering: .acquiring) {
            code = unsafe sqlite3_backup_step(copying, Self.pagesAtOnce)
        }
        let end = unsafe sqlite3_backup_finish(copying)
        try target.check(end)
        guard code == SQLITE_DONE else { throw Self.interruption(path) }
    }

    /// The pages copied between two checks whether the copy is still wanted.
    private static let pagesAtOnce: CInt = 256

    /// Creates a directory under a temporary name, calls `fill` for it, and renames it.
    private static func fill(
        _ directory: String, _ body: (String) throws(StoreError) -> Void
    ) throws(StoreError) {
        let partial = directory + ".partial"
        guard unsafe access(directory, F_OK) != 0 else {
            throw StoreError(.conflict, "There is \(directory) already: name another place for the copy.")
        }
        guard unsafe mkdir(partial, 0o700) == 0 else {
            let code = errno
            throw StoreError(
                systemCode: code, "The directory \(partial) cannot be created",
                remedy: code == EEXIST
                    ? "remove it if it is left from a copy that failed, or name another place"
                    : "name a place that is there and in which the relay may write")
        }
        do throws(StoreError) {
            try body(partial)
            OwnedDirectory.sync(partial)
            guard unsafe rename(partial, directory) == 0 else {
                let code = errno
                throw StoreError(
                    systemCode: code, "The copy cannot be given its name \(directory)",
                    remedy: "name another place")
            }
        } catch {
            remove(partial)
            throw error
        }
        OwnedDirectory.sync(directory + "/..")
    }

    /// Removes the remains of a failed copy.
    private static func remove(_ partial: String) {
        for name in ["registry.sqlite", "queue.sqlite"] {
            for ending in ["", "-wal", "-journal"] { unsafe _ = unlink(partial + "/" + name + ending) }
        }
        unsafe _ = rmdir(partial)
    }

    private static func interruption(_ path: String) -> StoreError {
        StoreError(
            .inputOutput, "The copy to \(path) was given up because the store's disk failed: try again.")
    }
}
