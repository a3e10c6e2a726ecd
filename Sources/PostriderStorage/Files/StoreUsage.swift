/// What a store takes of its disk, and what is left there. Whoever looks needs no store: it is read from the file
/// system.
public struct StoreUsage: Sendable {
    /// One database file and its write-ahead log.
    public struct File: Sendable {
        /// `registry` or `queue`.
        public let name: String
        /// Bytes of the file.
        public let bytes: Int
        /// Bytes of its log. It is as long as it ever was: what is in it now may be less.
        public let logBytes: Int
    }

    /// The files.
    public let files: [File]
    /// Bytes that an ordinary user may still write to the disk; nil if nobody can say.
    public let freeBytes: Int?

    /// Looks at the store in a directory.
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
