internal import CPostriderFileAccess
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

    /// The path that the kernel knows it by; where that cannot be found out, what the kernel calls it by number.
    var path: String {
        let link = "/proc/self/fd/\(descriptor)"
        var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = unsafe readlink(link, &bytes, bytes.count)
        guard count > 0 else { return link }
        return String(decoding: bytes.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// What its access control list gives; nil if it has none.
    ///
    /// - Throws: ``FileAccessError`` where there is one that cannot be read or understood: then the mode says nothing.
    func accessList() throws(FileAccessError) -> [AccessGrant]? {
        let attribute = "system.posix_acl_access"
        // As long as an attribute can be (xattr(7)).
        var bytes = [UInt8](repeating: 0, count: 65_536)
        var count = unsafe fgetxattr(descriptor, attribute, &bytes, bytes.count)
        if count < 0, errno == EBADF {
            // A descriptor that only names a place is asked by the name that the kernel has for it.
            count = unsafe getxattr("/proc/self/fd/\(descriptor)", attribute, &bytes, bytes.count)
        }
        guard count >= 0 else {
            let code = errno
            if code == ENODATA || code == EOPNOTSUPP { return nil }
            throw .system(code)
        }
        let list = AccessGrant.list(ofAttribute: Array(bytes.prefix(count)), group: status.st_gid)
        guard let list else { throw .unknownList }
        return list
    }
}
