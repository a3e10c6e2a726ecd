import CPostriderSQLite
import Glibc
public import PostriderNotifications

/// A directory that only this process uses while this object exists. Two relays or two agents on one directory would
/// assign the same row numbers.
///
/// The claim is an flock(2) on a file in the directory, which the kernel releases when the process ends. The file
/// contains the owner's process number, which is only for the sentence that refuses a second process.
public final class OwnedDirectory {
    /// The path of the directory.
    public let path: String
    private let descriptor: CInt

    /// Claims the directory, and creates it with mode 0700 if it is missing.
    public init(_ path: String, log: Log) throws(StoreError) {
        try Self.make(path, log: log)
        let file = path + "/lock"
        let descriptor = unsafe open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        let code = errno
        guard descriptor >= 0 else {
            throw StoreError(
                systemCode: code, "The directory \(path) cannot be written to",
                remedy: "check its permissions"
            )
        }
        let lockCode = Self.lock(descriptor)
        guard lockCode == 0 else {
            defer { close(descriptor) }
            guard lockCode == EWOULDBLOCK else {
                throw StoreError(
                    systemCode: lockCode, "The directory \(path) cannot be locked", remedy: "use a local disk"
                )
            }
            let owner = Self.owner(descriptor)
            throw StoreError(
                .busy,
                "The directory \(path) belongs to another process\(owner.map { " (\($0))" } ?? ""): "
                    + "end it or name another directory."
            )
        }
        self.path = path
        self.descriptor = descriptor
        signOwner()
    }

    deinit {
        // A child that another thread is starting at this moment has a copy of the descriptor until it executes its
        // program, so closing the descriptor would not release the lock at once.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    /// Locks the file. Returns 0 or the reason.
    ///
    /// An owner that was killed while it started a child leaves the lock to that child until the child executes its
    /// program, so the lock of an owner that is gone is waited for.
    private static func lock(_ descriptor: CInt) -> CInt {
        for _ in 0..<attempts {
            guard flock(descriptor, LOCK_EX | LOCK_NB) != 0 else { return 0 }
            let code = errno
            guard code == EWOULDBLOCK, let owner = owner(descriptor), kill(owner, 0) != 0, errno == ESRCH
            else {
                return code
            }
            usleep(pauseMicroseconds)
        }
        return EWOULDBLOCK
    }

    /// How often a lock is tried whose owner is gone, and the time between: a second together.
    private static let (attempts, pauseMicroseconds) = (200, UInt32(5_000))

    private static func make(_ path: String, log: Log) throws(StoreError) {
        if unsafe mkdir(path, 0o700) == 0 {
            sync(path + "/..")
            return
        }
        let code = errno
        guard code == EEXIST else {
            throw StoreError(
                systemCode: code,
                "The directory \(path) cannot be created",
                remedy: "make the one above it or name another place"
            )
        }
        var status = stat()
        guard unsafe stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
            throw StoreError(.unusable, "\(path) is not a directory: name another place.")
        }
        if status.st_mode & 0o077 != 0 {
            log.warning("The directory \(path) is open to other users: it holds secrets; use mode 0700.")
        }
    }

    /// Makes a new name in a directory survive a power failure. An error is ignored, because some file systems cannot
    /// sync directories.
    static func sync(_ directory: String) {
        let descriptor = unsafe open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        close(descriptor)
    }

    private func signOwner() {
        let text = "\(getpid())\n"
        ftruncate(descriptor, 0)
        _ = unsafe pwrite(descriptor, text, text.utf8.count, 0)
    }

    /// The process number that the owner has written into the file; nil if it has not written one yet.
    private static func owner(_ descriptor: CInt) -> Int32? {
        var text = [UInt8](repeating: 0, count: 16)
        let count = unsafe pread(descriptor, &text, text.count, 0)
        let digits = text.prefix(max(count, 0)).prefix { $0 != UInt8(ascii: "\n") }
        return Int32(String(decoding: digits, as: UTF8.self))
    }
}
