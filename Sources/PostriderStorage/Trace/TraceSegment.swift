import CPostriderSQLite
import Glibc
import PostriderNotifications

/// One file of a trace. Bytes after its end were not written completely.
final class TraceSegment {
    let path: String
    /// The highest row of the segments before it.
    let lastRowBefore: QueueRow
    /// The end of the segment in bytes.
    private(set) var byteCount: Int
    private let descriptor: CInt

    /// Creates a segment.
    init(making path: String, lastRow: QueueRow) throws(StoreError) {
        let descriptor = unsafe Glibc.open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        let code = errno
        guard descriptor >= 0 else { throw Self.failure(code, path) }
        self.path = path
        self.descriptor = descriptor
        lastRowBefore = lastRow
        byteCount = 0
        do throws(StoreError) {
            try append(TraceBytes.header(lastRow: lastRow))
        } catch {
            // A segment without a complete header is useless, and its name is needed again.
            unsafe unlink(path)
            throw error
        }
    }

    /// Opens a segment. Returns nil if it is missing or has another version.
    ///
    /// - Parameter forWriting: whether it will be appended to.
    init?(opening path: String, forWriting: Bool) throws(StoreError) {
        let descriptor = unsafe Glibc.open(path, (forWriting ? O_RDWR : O_RDONLY) | O_CLOEXEC)
        let code = errno
        guard descriptor >= 0 else {
            if code == ENOENT { return nil }
            throw Self.failure(code, path)
        }
        var header: [UInt8] = []
        let length = Int(lseek(descriptor, 0, SEEK_END))
        Self.read(descriptor, 0, TraceBytes.headerBytes, into: &header)
        guard let lastRow = unsafe TraceBytes.lastRow(inHeader: header.span.bytes) else {
            close(descriptor)
            return nil
        }
        self.path = path
        self.descriptor = descriptor
        lastRowBefore = lastRow
        byteCount = length
    }

    deinit { close(descriptor) }

    /// Appends bytes. If it throws, the end of the segment stays where it was.
    func append(_ bytes: [UInt8]) throws(StoreError) {
        var written = 0
        while written < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { all in
                unsafe pwrite(
                    descriptor, all.baseAddress.map { unsafe $0 + written }, bytes.count - written,
                    off_t(byteCount + written))
            }
            let code = errno
            if count < 0, code == EINTR { continue }
            guard count > 0 else { throw Self.failure(count < 0 ? code : ENOSPC, path) }
            written += count
        }
        byteCount += written
    }

    /// Reads at most `count` bytes from an offset, and none after the end.
    func read(_ offset: Int, _ count: Int, into bytes: inout [UInt8]) {
        Self.read(descriptor, offset, min(count, byteCount - offset), into: &bytes)
    }

    /// Cuts the segment off at an offset.
    func cut(at offset: Int) {
        ftruncate(descriptor, off_t(offset))
        byteCount = offset
    }

    private static func read(_ descriptor: CInt, _ offset: Int, _ count: Int, into bytes: inout [UInt8]) {
        bytes = [UInt8](repeating: 0, count: max(count, 0))
        var have = 0
        while have < bytes.count {
            let wanted = bytes.count - have
            let count = unsafe bytes.withUnsafeMutableBytes { all in
                unsafe pread(
                    descriptor, all.baseAddress.map { unsafe $0 + have }, wanted, off_t(offset + have))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            have += count
        }
        bytes.removeSubrange(have...)
    }

    private static func failure(_ code: CInt, _ path: String) -> StoreError {
        StoreError(traceCode: code, "The trace's file \(path) cannot be written")
    }
}
