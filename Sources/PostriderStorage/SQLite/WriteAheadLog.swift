import CPostriderSQLite
import Glibc
import PostriderNotifications

/// The write-ahead log file beside a database file.
enum WriteAheadLog {
    private static func name(of path: String) -> String { path + "-wal" }

    /// The bytes of a page.
    static let pageBytes = 4096

    /// The bytes that a log of this many pages takes: a file header, and one frame header before each page.
    static func byteCount(pages: Int) -> Int { 32 + pages * (24 + pageBytes) }

    /// Extends the file to `length` bytes with zeros if it is shorter. Its content is not changed, because a log ends
    /// where its checksums end. Only the committing thread may call it, and only between two commits.
    ///
    /// Without `isSynced`, the next commit's sync covers the change, and fails if it cannot be written. Errors are
    /// ignored: if there is no space, the log grows as it would have without this call.
    static func lengthen(_ path: String, to length: Int, isSynced: Bool = false) {
        let descriptor = unsafe open(name(of: path), O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        let end = Int(lseek(descriptor, 0, SEEK_END))
        guard end >= 0, end < length else { return }
        let zeros = [UInt8](repeating: 0, count: length - end)
        _ = unsafe pwrite(descriptor, zeros, zeros.count, end)
        // fsync errors are reported to every open descriptor, so the next commit sees this one.
        if isSynced { _ = fdatasync(descriptor) }
    }

    /// Truncates the file to its first pages. Only the committing thread may call it, only between two commits, and
    /// with at least as many pages as are committed.
    static func cut(_ path: String, toPages pages: Int) {
        let (log, length) = (name(of: path), byteCount(pages: pages))
        guard DiskSpace.length(of: log) > length else { return }
        unsafe _ = truncate(log, length)
    }

    /// Overwrites the log with its own bytes and syncs it, so that what is read from it is on the disk. No connection
    /// may write to the log meanwhile. After a failed sync, in this process or an earlier one, the kernel may hold
    /// frames that are not on the disk: SQLite would copy them into the file, and a power failure could then leave
    /// some of their changes there without the others.
    static func writeAnew(of path: String) throws(StoreError) {
        let log = name(of: path)
        let descriptor = unsafe open(log, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else {
            guard errno == ENOENT else { throw failure(log) }
            return
        }
        defer { close(descriptor) }
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        var offset = 0
        while true {
            let count = unsafe pread(descriptor, &buffer, buffer.count, offset)
            guard count >= 0 else { throw failure(log) }
            guard count > 0 else { break }
            // A short write is continued where it ended.
            let written = unsafe pwrite(descriptor, &buffer, count, offset)
            guard written > 0 else { throw failure(log) }
            offset += written
        }
        guard fsync(descriptor) == 0 else { throw failure(log) }
    }

    private static func failure(_ log: String) -> StoreError {
        let number = errno
        let code =
            switch number {
            case ENOSPC, EDQUOT: SQLITE_FULL
            case EACCES, EPERM: SQLITE_CANTOPEN
            default: SQLITE_IOERR
            }
        return unsafe StoreError(code: code, message: String(cString: strerror(number)), path: log)
    }
}
