import CPostriderSQLite
import Glibc

/// The free space of a file system (statvfs(3)).
enum DiskSpace {
    /// The bytes that an unprivileged user may still write to the file system of `path`. `Int.max` if it does not
    /// say, as a file system without a size of its own.
    static func free(at path: String) -> Int {
        var status = statvfs()
        guard unsafe statvfs(path, &status) == 0, status.f_blocks > 0 else { return .max }
        return Int(clamping: status.f_bavail).multipliedClamping(by: Int(clamping: status.f_frsize))
    }

    /// The length of a file in bytes; 0 if it does not exist.
    static func length(of path: String) -> Int {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return 0 }
        return Int(status.st_size)
    }
}

extension Int {
    fileprivate func multipliedClamping(by other: Int) -> Int {
        let (product, isTooLarge) = multipliedReportingOverflow(by: other)
        return isTooLarge ? .max : product
    }
}
