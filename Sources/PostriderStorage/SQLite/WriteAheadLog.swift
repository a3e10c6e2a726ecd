import CPostriderSQLite
import Glibc
import PostriderNotifications

/// The log beside a database file.
enum WriteAheadLog {
    private static func name(of path: String) -> String { path + "-wal" }

    /// Bytes of a page.
    static let pageBytes = 4096

    /// How many bytes of the file so many pages take: a head, and one before each page.
    static func byteCount(pages: Int) -> Int { 32 + pages * (24 + pageBytes) }

    /// Makes the file longer by zeros, where it is shorter. What is in it stays as it is: a log ends where its
    /// checksums end. To be called by whoever commits, between two commits.
    ///
    /// Where it is not synced, the next commit's sync does that, and fails where it cannot be done. Where there is no
    /// room the log grows as it would have without this.
    static func lengthen(_ path: String, to length: Int, isSynced: Bool = false) {
        let descriptor = unsafe open(name(of: path), O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        let end = Int(lseek(descriptor, 0, SEEK_END))
        guard end >= 0, end < length else { return }
        let zeros = [UInt8](repeating: 0, count: length - end)
        _ = unsafe pwrite(descriptor, zeros, zeros.count, end)
        // A failure is everybody's to hear who has the file open: the next commit does.
        if isSynced { _ = fdatasync(descriptor) }
    }

    /// Makes the file shorter, to no more than its first pages. To be called by whoever commits, between two commits,
    /// with at least as many pages as are committed.
    static func cut(_ path: String, toPages pages: Int) {
        let (log, length) = (name(of: path), byteCount(pages: pages))
        guard DiskSpace.length(of: log) > length else { return }
        unsafe _ = truncate(log, length)
    }

    /// Writes the own bytes of the log over it and syncs it, so that what is read from it is on the disk: for a file
    /// that nobody has open. After a sync has failed, in this process or in one before it, the kernel may hold frames
    /// that are not: SQLite would copy them into the file, and a power cut would then leave changes there by half.
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
            // A write that took less goes on where it ended.
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
