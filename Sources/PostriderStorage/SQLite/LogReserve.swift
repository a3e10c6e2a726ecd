import PostriderNotifications

/// How long the file of a write-ahead log is made ahead of what is written to it.
///
/// A sync of bytes that make a file longer waits until the file system has written down the new length and where
/// the bytes lie, and with that what everybody else changed meanwhile; a sync of bytes within the file waits for
/// these bytes alone. So a log that is about to grow is made longer by a good piece at once, and one commit of many
/// pays for it: not by more than a few commits take, for that one waits until all of it is on the disk.
///
/// Speed is no reason to fill a disk: all that is reserved is at most a part of what is left, and nothing where little
/// is (``Notifications/Limits/logReserveShare``).
struct LogReserve {
    /// A log of less is left alone: most of those never grow.
    static let leastBytes = 64 << 10
    /// So many times what the last commit took are reserved, and at most so many bytes.
    static let commits = 16
    static let mostBytes = 1 << 20

    /// How long the file is, as far as is known here; what its log needs beyond that has made it longer.
    private var length = 0
    /// What the log took of it when it was last looked at.
    private var used = 0

    /// The length in bytes to which the file is to be made now that the log takes `used` bytes of it. Nil if it is long
    /// enough, or if the disk has too little left.
    ///
    /// - Parameter free: answers how many bytes the disk has left; asked only where more is to be reserved.
    mutating func length(afterBytes used: Int, free: () -> Int) -> Int? {
        // A log that began anew is in a file that is long enough.
        let written = max(used - self.used, 0)
        self.used = used
        guard used >= Self.leastBytes else { return nil }
        let reserve = min(max(written * Self.commits, Self.leastBytes), Self.mostBytes)
        guard length - used < reserve / 2 else { return nil }
        return lengthen(to: used + reserve, free: free())
    }

    /// The length in bytes to which the file is to be made while nobody waits for it, until it is as long as the log
    /// may become. Nil if it is, or if the disk has too little left.
    mutating func piece(of whole: Int, free: Int) -> Int? {
        guard length < whole else { return nil }
        return lengthen(to: min(max(length, used) + Self.mostBytes, whole), free: free)
    }

    private mutating func lengthen(to wanted: Int, free: Int) -> Int? {
        guard free >= Limits.logReserveLeastFree else { return nil }
        let present = max(length, used)
        // What is reserved already was a part of what was left.
        let most = used + (free / Limits.logReserveShare) + (present - used) / Limits.logReserveShare
        let longer = min(wanted, most)
        guard longer > present, longer == wanted || longer - present >= Self.leastBytes else { return nil }
        length = longer
        return length
    }
}
