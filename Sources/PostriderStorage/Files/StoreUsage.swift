/// The disk space that a store uses, and the space that is left on its disk. It is read from the file system, so the
/// caller needs no open store.
public struct StoreUsage: Sendable {
    /// One database file and its write-ahead log.
    public struct File: Sendable {
        /// The name of the database: `registry` or `queue`.
        public let name: String
        /// The size of the database file in bytes.
        public let bytes: Int
        /// The size of its write-ahead log in bytes. The log file does not shrink, so the log may use less of it.
        public let logBytes: Int
    }

    /// The database files of the store.
    public let files: [File]
    /// The bytes that an unprivileged user may still write to the disk; nil if the file system does not say.
    public let freeBytes: Int?

    /// Reads the sizes of the store in a directory.
    public init(directory: String) {
        files = ["registry", "queue"].map { name in
            let path = "\(directory)/\(name).sqlite"
            return File(
                name: name, bytes: DiskSpace.length(of: path), logBytes: DiskSpace.length(of: path + "-wal"))
        }
        let free = DiskSpace.free(at: directory)
        freeBytes = free == .max ? nil : free
    }
}
