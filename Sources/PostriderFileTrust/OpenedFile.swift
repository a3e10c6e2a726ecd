internal import CPostriderFileAccess
internal import Glibc

/// An open file, which is closed when this value ends.
public struct OpenedFile: ~Copyable {
    /// The descriptor, which this value owns.
    public let descriptor: Int32

    init(owning descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// Gives the descriptor to the caller, who must close it.
    public consuming func release() -> Int32 {
        let number = descriptor
        discard self
        return number
    }

    /// Reads the whole file.
    ///
    /// - Parameter most: the most bytes that it may have.
    /// - Throws: ``FileAccessError`` if the file is longer, or cannot be read.
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

    /// The status that the kernel reports (fstat(2)).
    var status: stat {
        var status = stat()
        let result = unsafe fstat(descriptor, &status)
        precondition(result == 0, "an open descriptor has a status")
        return status
    }

    /// The path of the file; if the kernel does not know it, the path of its descriptor in `/proc`.
    var path: String {
        let link = "/proc/self/fd/\(descriptor)"
        var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = unsafe readlink(link, &bytes, bytes.count)
        guard count > 0 else { return link }
        return String(decoding: bytes.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// Reads the access control list; nil if there is none.
    ///
    /// - Throws: ``FileAccessError`` if there is a list that cannot be read or understood, because the mode alone is
    ///   not sufficient then.
    func accessList() throws(FileAccessError) -> [AccessGrant]? {
        let attribute = "system.posix_acl_access"
        // The maximum length of an attribute (xattr(7)).
        var bytes = [UInt8](repeating: 0, count: 65_536)
        var count = unsafe fgetxattr(descriptor, attribute, &bytes, bytes.count)
        if count < 0, errno == EBADF {
            // For an O_PATH descriptor, fgetxattr(2) fails, so the attribute is read by the file's name in `/proc`.
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
