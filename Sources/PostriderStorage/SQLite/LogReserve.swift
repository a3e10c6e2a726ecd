import PostriderNotifications

/// Decides how far the file of a write-ahead log is extended ahead of use.
///
/// Syncing bytes that extend a file waits until the file system has written the new length and the location of the
/// blocks, and with them the metadata that other programs changed meanwhile; syncing bytes within the file waits only
/// for these bytes. So a log that is about to grow is extended by a larger piece at once, and one commit of many pays
/// for it. The piece is limited to what a few commits take, because that one commit waits until all of it is on the
/// disk.
///
/// A reserve must not fill the disk: it takes at most a share of the free space, and nothing if little is left
/// (``Notifications/Limits/logReserveShare``).
struct LogReserve {
    /// A shorter log is not extended, because most of those never grow. Bytes.
    static let leastBytes = 64 << 10
    /// The reserve is this many times what the last commit took, but at most `mostBytes`.
    static let commits = 16
    static let mostBytes = 1 << 20

    /// The length of the file as far as this object knows. Commits that needed more have extended it.
    private var length = 0
    /// The bytes that the log used when it was last examined.
    private var used = 0

    /// The length in bytes to which the file is to be extended, now that the log uses `used` bytes of it. nil if it
    /// is long enough, or if the disk has too little space left.
    ///
    /// - Parameter free: returns the free bytes on the disk. It is called only if more is to be reserved.
    mutating func length(afterBytes used: Int, free: () -> Int) -> Int? {
        // A log that restarted lies in a file that is long enough.
        let written = max(used - self.used, 0)
        self.used = used
        guard used >= Self.leastBytes else { return nil }
        let reserve = min(max(written * Self.commits, Self.leastBytes), Self.mostBytes)
        guard length - used < reserve / 2 else { return nil }
        return lengthen(to: used + reserve, free: free())
    }

    /// The next length in bytes to which the file is to be extended while nothing waits for it, until it has the
    /// length `whole`. nil if it has that length, or if the disk has too little space left.
    mutating func piece(of whole: Int, free: Int) -> Int? {
        guard length < whole else { return nil }
        return lengthen(to: min(max(length, used) + Self.mostBytes, whole), free: free)
    }

    private mutating func lengthen(to wanted: Int, free: Int) -> Int? {
        guard free >= Limits.logReserveLeastFree else { return nil }
        let present = max(length, used)
        // The present reserve was a part of the space that was free before.
        let most = used + (free / Limits.logReserveShare) + (present - used) / Limits.logReserveShare
        let longer = min(wanted, most)
        guard longer > present, longer == wanted || longer - present >= Self.leastBytes else { return nil }
        length = longer
        return length
    }
}
