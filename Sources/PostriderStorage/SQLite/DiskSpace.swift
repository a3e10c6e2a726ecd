import CPostriderSQLite
import Glibc

/// What the file system of a file has left (statvfs(3)).
enum DiskSpace {
    /// Bytes that an ordinary user may still write to the file system on which `path` lies. `Int.max` if nobody can
    /// say, as on a file system without a size of its own.
    static func free(at path: String) -> Int {
        var status = statvfs()
        guard unsafe statvfs(path, &status) == 0, status.f_blocks > 0 else { return .max }
        return Int(clamping: status.f_bavail).multipliedClamping(by: Int(clamping: status.f_frsize))
    }

    /// The length of a file in bytes; 0 if there is none.
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
