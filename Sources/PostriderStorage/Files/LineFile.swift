import Glibc
public import PostriderNotifications

/// A file of lines that is appended to durably and takes a bounded place on the disk: when it has reached its length,
/// it is renamed to `NAME.1`, which was renamed to `NAME.2`, and so on; the oldest is removed. It is created so that
/// only its owner can read it. It belongs to one thread.
public final class LineFile {
    /// The path of the newest file.
    public let path: String
    private let mostBytes: Int
    private let files: Int
    private var descriptor: CInt = -1
    private var byteCount = 0

    /// Creates a writer. The file is opened, and created if it is missing, when the first line is appended.
    ///
    /// - Parameters:
    ///   - mostBytes: the length at which a new file is begun.
    ///   - files: how many files there are at most, with the newest.
    public init(_ path: String, mostBytes: Int, files: Int) {
        precondition(files > 0, "there is the newest file")
        self.path = path
        self.mostBytes = mostBytes
        self.files = files
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// The paths of all files that there may be, the oldest first.
    public static func paths(_ path: String, files: Int) -> [String] {
        (1..<files).reversed().map { "\(path).\($0)" } + [path]
    }

    /// Appends a line and makes it durable. If that fails, the file is as it was before; the next call tries again.
    public func append(_ line: String) throws(StoreError) {
        if descriptor < 0 { try open() }
        if byteCount > 0, byteCount + line.utf8.count >= mostBytes {
            rotate()
            try open()
        }
        let bytes = Array((line + "\n").utf8)
        var written = 0
        while written < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { all in
                unsafe write(descriptor, all.baseAddress.map { unsafe $0 + written }, bytes.count - written)
            }
            let code = errno
            if count < 0, code == EINTR { continue }
            guard count > 0 else { throw undo(count < 0 ? code : ENOSPC) }
            written += count
        }
        guard fdatasync(descriptor) == 0 else { throw undo(errno) }
        byteCount += written
    }

    /// Removes the beginning of a line that could not be written. The file is opened anew for the next line, because a
    /// failed sync is reported only once.
    private func undo(_ code: CInt) -> StoreError {
        ftruncate(descriptor, off_t(byteCount))
        close(descriptor)
        descriptor = -1
        return failure(code)
    }

    private func open() throws(StoreError) {
        let flags = O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW
        descriptor = unsafe Glibc.open(path, flags, 0o600)
        guard descriptor >= 0 else { throw failure(errno) }
        byteCount = Int(lseek(descriptor, 0, SEEK_END))
        if byteCount == 0 { OwnedDirectory.sync(directory) }
        // A line without an end is the beginning of one that a power failure cut off.
        var last: UInt8 = 0
        if byteCount > 0, unsafe pread(descriptor, &last, 1, off_t(byteCount - 1)) == 1,
            last != UInt8(ascii: "\n")
        {
            var end = UInt8(ascii: "\n")
            guard unsafe write(descriptor, &end, 1) == 1 else { throw undo(errno) }
            byteCount += 1
        }
    }

    private func rotate() {
        close(descriptor)
        descriptor = -1
        let paths = Self.paths(path, files: files)
        if files == 1 { _ = unsafe unlink(path) }
        for (older, newer) in zip(paths, paths.dropFirst()) { _ = unsafe rename(newer, older) }
        OwnedDirectory.sync(directory)
    }

    private var directory: String {
        path.contains("/") ? String(path[..<(path.lastIndex(of: "/") ?? path.endIndex)]) : "."
    }

    private func failure(_ code: CInt) -> StoreError {
        StoreError(traceCode: code, "The file \(path) cannot be written")
    }
}
