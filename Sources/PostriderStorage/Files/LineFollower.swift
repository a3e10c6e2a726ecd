import Glibc
public import PostriderNotifications

/// Reads the lines of a ``LineFile`` while another process appends to it, also over its renamings. It belongs to one
/// thread.
public final class LineFollower {
    private let paths: [String]
    private var descriptor: CInt = -1
    /// The file that is open, by its device and inode; a renamed file keeps them.
    private var identity: FileIdentity?
    /// Where the last whole line ends.
    private var offset = 0
    /// Whether files were removed before they could be read.
    public private(set) var hasGap = false

    private struct FileIdentity: Equatable {
        let device: dev_t
        let inode: ino_t

        init(_ status: stat) { (device, inode) = (status.st_dev, status.st_ino) }
    }

    /// Follows the file at `path`, of which there are at most `files`. The first lines that it reads are the oldest.
    public init(_ path: String, files: Int) { paths = LineFile.paths(path, files: files) }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// The whole lines that were added since the last call; at first, all that there are. A line without its end is
    /// left for later.
    public func readLines() throws(StoreError) -> [String] {
        var lines: [String] = []
        if descriptor < 0 {
            guard let oldest = paths.indices.first(where: { identity(at: $0) != nil }), try open(oldest)
            else {
                return []
            }
        }
        while true {
            try read(into: &lines)
            guard let newest = identity(at: paths.count - 1), newest != identity else { return lines }
            // The writer has renamed the open file, and adds nothing to it any more.
            try read(into: &lines)
            guard let place = paths.indices.first(where: { identity(at: $0) == identity }) else {
                hasGap = true
                guard let oldest = paths.indices.first(where: { identity(at: $0) != nil }), try open(oldest)
                else {
                    return lines
                }
                continue
            }
            let known = identity
            guard try open(place + 1) else { continue }
            // Another renaming since then would have put a later file there.
            if identity(at: place) != known { try reopen(known) }
        }
    }

    /// Opens the file of before again, wherever it is now.
    private func reopen(_ known: FileIdentity?) throws(StoreError) {
        let end = offsetBefore
        for place in paths.indices where identity(at: place) == known {
            if try open(place), identity == known { offset = end }
            return
        }
    }

    /// Where the last whole line of the file before ends.
    private var offsetBefore = 0

    /// Opens a file at its beginning. Returns false if it is gone.
    private func open(_ place: Int) throws(StoreError) -> Bool {
        let opened = unsafe Glibc.open(paths[place], O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard opened >= 0 else {
            guard errno == ENOENT else { throw failure(errno) }
            return false
        }
        var status = stat()
        guard unsafe fstat(opened, &status) == 0 else {
            close(opened)
            throw failure(errno)
        }
        if descriptor >= 0 { close(descriptor) }
        offsetBefore = offset
        (descriptor, identity, offset) = (opened, FileIdentity(status), 0)
        return true
    }

    private func identity(at place: Int) -> FileIdentity? {
        var status = stat()
        return unsafe lstat(paths[place], &status) == 0 ? FileIdentity(status) : nil
    }

    private func read(into lines: inout [String]) throws(StoreError) {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = unsafe pread(descriptor, &chunk, chunk.count, off_t(offset + bytes.count))
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure(errno) }
            bytes += chunk.prefix(count)
            guard count > 0 else { break }
        }
        guard let end = bytes.lastIndex(of: UInt8(ascii: "\n")) else { return }
        offset += end + 1
        lines += bytes[..<end].split(separator: UInt8(ascii: "\n")).map {
            String(decoding: $0, as: UTF8.self)
        }
    }

    private func failure(_ code: CInt) -> StoreError {
        StoreError(traceCode: code, "The file \(paths.last ?? "") cannot be read")
    }
}
