import CPostriderSQLite
import Glibc
import PostriderNotifications

extension StoreError {
    /// The error for a result code of SQLite. No result code leaves this module. `message` is SQLite's own message,
    /// and `systemCode` is the errno behind it, or 0.
    init(code: CInt, message: String, path: String, systemCode: CInt = 0) {
        switch code & 0xFF {
        case SQLITE_FULL:
            self.init(.full, "No space is left for \(path) (SQLITE_FULL): free space on its disk.")
        case SQLITE_IOERR where systemCode == ENOSPC || systemCode == EDQUOT:
            // The sync failed on a file system that allocates blocks only then, so the change may be on the disk
            // nevertheless.
            self.init(.inputOutput, "No space is left for \(path) (ENOSPC): free space on its disk.")
        case SQLITE_IOERR:
            self.init(
                .inputOutput,
                "The disk failed under \(path) (SQLITE_IOERR: \(message)): check the disk and its mount.")
        case SQLITE_BUSY, SQLITE_LOCKED:
            self.init(.busy, "Another process holds \(path): end it and try again.")
        case SQLITE_CONSTRAINT:
            self.init(.conflict, "A change contradicts what \(path) already holds (\(message)).")
        case SQLITE_NOTADB:
            self.init(.unusable, "\(path) is not a database: move it away or name another place.")
        case SQLITE_CORRUPT:
            self.init(
                .unusable, "\(path) is damaged (SQLITE_CORRUPT: \(message)): put a backup in its place.")
        case SQLITE_CANTOPEN, SQLITE_READONLY, SQLITE_PERM:
            self.init(
                .unusable,
                "\(path) cannot be opened for writing (\(message)): check its permissions and its directory."
            )
        default:
            self.init(.unusable, "\(path) cannot be used (\(message)).")
        }
    }

    /// The error for a failed system call on a file or directory of the trace.
    init(traceCode code: CInt, _ what: String) {
        let isForbidden = [EACCES, EPERM, EROFS].contains(code)
        self.init(systemCode: code, what, remedy: isForbidden ? "check its permissions" : "check its disk")
    }

    /// The error for a failed system call on a file or directory. No errno leaves this module.
    init(systemCode code: CInt, _ what: String, remedy: String) {
        let reason = unsafe String(cString: strerror(code))
        let isFull = code == ENOSPC || code == EDQUOT
        self.init(
            isFull ? .full : .unusable, "\(what) (\(reason)): \(isFull ? "free space on its disk" : remedy).")
    }
}
