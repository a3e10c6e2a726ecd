internal import CPostriderSystem
internal import Glibc
package import PostriderTransport

/// What the kernel tells about the machine, for diagnoses.
package enum MachineFacts {
    /// A file system, as statfs(2) reports it.
    package struct FileSystem: Sendable {
        /// The bytes that an unprivileged user may still write.
        package var freeBytes: Int
        /// The files that may still be created; nil if the file system does not count them.
        package var freeFiles: Int?
        /// Whether it is on another machine (NFS, SMB, CIFS, AFS, Ceph).
        package var isRemote: Bool

        /// A file system from its parts.
        package init(freeBytes: Int, freeFiles: Int?, isRemote: Bool) {
            (self.freeBytes, self.freeFiles, self.isRemote) = (freeBytes, freeFiles, isRemote)
        }
    }

    /// Who owns a file, and who may use it.
    package struct Access: Sendable {
        /// The number of its owner.
        package let owner: UInt32
        /// The permissions (chmod(2)).
        package let mode: UInt32
        /// Whether it is a directory.
        package let isDirectory: Bool
    }

    /// The access to a file, or to what a symbolic link leads to; nil if there is none.
    package static func access(to path: String) -> Access? {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        return Access(
            owner: status.st_uid, mode: status.st_mode & 0o7777,
            isDirectory: status.st_mode & S_IFMT == S_IFDIR)
    }

    /// Whether the kernel's clock is synchronised (adjtimex(2)). Nil if the kernel does not say.
    package static var isClockSynchronised: Bool? {
        var times = timex()
        let state = unsafe adjtimex(&times)
        return state < 0 ? nil : state != TIME_ERROR
    }

    /// The file system of a path; nil if there is no such path.
    package static func fileSystem(of path: String) -> FileSystem? {
        var status = statfs()
        guard unsafe statfs(path, &status) == 0 else { return nil }
        let (bytes, overflows) = Int(clamping: status.f_bavail).multipliedReportingOverflow(
            by: Int(clamping: status.f_bsize))
        return FileSystem(
            freeBytes: overflows || status.f_blocks == 0 ? .max : bytes,
            freeFiles: status.f_files == 0 ? nil : Int(clamping: status.f_ffree),
            isRemote: remoteTypes.contains(UInt32(truncatingIfNeeded: status.f_type)))
    }

    /// The magic numbers of file systems on other machines: NFS, SMB, CIFS, SMB 2, AFS, Ceph.
    private static let remoteTypes: Set<UInt32> = [
        0x6969, 0x517B, 0xFF53_4D42, 0xFE53_4D42, 0x5346_414F, 0x00C3_6400,
    ]

    /// The time that a disk needs to sync a write of 4 KiB: the median of five, in milliseconds. They go to a file
    /// whose name is removed before the first write.
    ///
    /// - Throws: `TransportError` if the directory takes no file, or the disk no write.
    package static func syncMilliseconds(in directory: String) throws(TransportError) -> Int {
        var name = Array("\(directory)/.postrider-doctor-XXXXXX".utf8CString)
        let file = unsafe name.withUnsafeMutableBufferPointer { name in
            unsafe name.baseAddress.map { unsafe mkstemp($0) } ?? -1
        }
        guard file >= 0 else { throw failure("cannot have a new file", directory) }
        defer { close(file) }
        unsafe unlink(name)
        let block = [UInt8](repeating: 0x5A, count: 4096)
        var times: [UInt64] = []
        for _ in 0..<5 {
            let start = EventLoop.monotonicNanoseconds
            guard unsafe write(file, block, block.count) == block.count, fdatasync(file) == 0 else {
                throw failure("takes no write", directory)
            }
            times.append(EventLoop.monotonicNanoseconds - start)
        }
        return Int(times.sorted()[2] / 1_000_000)
    }

    private static func failure(_ what: String, _ directory: String) -> TransportError {
        let reason = unsafe String(cString: strerror(errno))
        return TransportError("\(directory) \(what): \(reason).")
    }
}
