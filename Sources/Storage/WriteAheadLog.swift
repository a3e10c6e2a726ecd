import CSQLite
import Glibc
import Notifications

/// The log beside a database file that nobody has open.
enum WriteAheadLog {
    /// Writes the log's own bytes over it and syncs it, so that what is read from it is on the disk. After a
    /// sync has failed, in this process or in one before it, the kernel may hold frames that are not: SQLite
    /// would copy them into the file, and a power cut would then leave changes there by half.
    static func writeAnew(of path: String) throws(StoreError) {
        let log = path + "-wal"
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
        let code = number == ENOSPC || number == EDQUOT ? SQLITE_FULL : SQLITE_IOERR
        return unsafe StoreError(code: code, message: String(cString: strerror(number)), path: log)
    }
}
