internal import CFileAccess
internal import Glibc

/// A file that is open, closed when this ends.
public struct OpenedFile: ~Copyable {
    /// The descriptor; it is this file's for as long as this lives.
    public let descriptor: Int32

    init(owning descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// Lets go of the descriptor, which the caller closes from now on.
    public consuming func release() -> Int32 {
        let number = descriptor
        discard self
        return number
    }

    /// All of the file.
    ///
    /// - Parameter most: the bytes that it may have.
    /// - Throws: ``FileAccessError``, of a file that is longer, or that the disk does not give.
    public func read(atMost most: Int) throws(FileAccessError) -> [UInt8] {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = unsafe Glibc.read(descriptor, &piece, piece.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw .system(errno) }
            guard count > 0 else { return bytes }
            guard bytes.count + count <= most else { throw .tooLong(most) }
            bytes.append(contentsOf: piece[..<count])
        }
    }

    /// What the kernel says of it.
    var status: stat {
        var status = stat()
        let result = unsafe fstat(descriptor, &status)
        precondition(result == 0, "an open descriptor has a status")
        return status
    }

    /// What its access control list gives; nil where it has none, or one of an unknown form.
    var accessList: [AccessGrant]? {
        var bytes = [UInt8](repeating: 0, count: 4096)
        // By the name that the kernel has for the descriptor: one that only names a place has no attributes to read.
        let name = "/proc/self/fd/\(descriptor)"
        let count = unsafe getxattr(name, "system.posix_acl_access", &bytes, bytes.count)
        guard count > 0 else { return nil }
        return AccessGrant.list(ofAttribute: Array(bytes.prefix(count)), group: status.st_gid)
    }
}
