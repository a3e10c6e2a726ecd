internal import CPostriderFileAccess
internal import Glibc

/// Walks the path to a file step by step as the kernel does (path_resolution(7)). It checks each symbolic link before
/// it follows it and, if the rule requires that, each directory before it looks up a name in it.
struct FileWalk {
    /// Opens a location without its content, which needs no read permission.
    private static let path = Int32(CFileAccess_O_PATH)
    /// The most symbolic links, which is the kernel's own limit.
    private static let mostLinks = 40

    private let rule: FileAccessRule

    init(_ rule: FileAccessRule) { self.rule = rule }

    /// Opens the file at a path.
    ///
    /// - Parameter isRead: whether the file is to be read; otherwise only its location is opened, for its status.
    /// - Throws: ``FileAccessError`` if the wrong user owns a link, if another user could replace a file in a
    ///   directory, or if the kernel refuses a step.
    func open(_ path: String, isRead: Bool) throws(FileAccessError) -> OpenedFile {
        guard !path.isEmpty else { throw .system(ENOENT) }
        var names = Self.names(of: path)
        var place = try directory(path.hasPrefix("/") ? "/" : ".")
        var links = 0
        while let name = names.popLast() {
            let step = try Self.step(name, at: place.descriptor)
            guard step.status.st_mode & S_IFMT == S_IFLNK else {
                if names.isEmpty { return isRead ? try Self.reading(name, at: place.descriptor) : step }
                try rule.judgeDirectory(step)
                place = step
                continue
            }
            links += 1
            guard links <= Self.mostLinks else { throw .system(ELOOP) }
            guard rule.owners.contains(step.status.st_uid) else {
                throw .link(name, owner: step.status.st_uid)
            }
            let target = try Self.target(of: step)
            if target.hasPrefix("/") { place = try directory("/") }
            names += Self.names(of: target)
        }
        // The path ends at a directory: `/`, or one behind a link to it.
        throw .notRegular
    }

    /// The names of a path in reverse order.
    private static func names(of path: String) -> [String] {
        path.split(separator: "/").reversed().filter { $0 != "." }.map(String.init)
    }

    /// Opens the directory in which a walk begins.
    private func directory(_ name: String) throws(FileAccessError) -> OpenedFile {
        let directory = try Self.opened(name, at: AT_FDCWD, Self.path | O_DIRECTORY)
        try rule.judgeDirectory(directory)
        return directory
    }

    /// Opens the location with this name, without following a link.
    private static func step(_ name: String, at place: Int32) throws(FileAccessError) -> OpenedFile {
        try opened(name, at: place, Self.path | O_NOFOLLOW)
    }

    /// Opens a file for reading. It does not block if the file is a pipe, which is refused later.
    private static func reading(_ name: String, at place: Int32) throws(FileAccessError) -> OpenedFile {
        try opened(name, at: place, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)
    }

    private static func opened(
        _ name: String, at place: Int32, _ flags: Int32
    ) throws(FileAccessError) -> OpenedFile {
        let descriptor = unsafe openat(place, name, flags | O_CLOEXEC)
        guard descriptor >= 0 else { throw .system(errno) }
        return OpenedFile(owning: descriptor)
    }

    private static func target(of link: borrowing OpenedFile) throws(FileAccessError) -> String {
        var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = unsafe readlinkat(link.descriptor, "", &bytes, bytes.count)
        guard count > 0 else { throw .system(count < 0 ? errno : ENOENT) }
        return String(decoding: bytes.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
