/// How long the file of a write-ahead log is made ahead of what is written to it.
///
/// A sync of bytes that make a file longer waits until the file system has written down the new length and where
/// the bytes lie, and with that what everybody else changed meanwhile; a sync of bytes within the file waits for
/// these bytes alone. So a log that is about to grow is made longer by a good piece at once, and one commit of many
/// pays for it: not by more than a few commits take, for that one waits until all of it is on the disk.
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

    /// To where the file is to be made longer now that the log takes so many bytes of it. Nil: it is long enough.
    mutating func length(afterBytes used: Int) -> Int? {
        // A log that began anew is in a file that is long enough.
        let written = max(used - self.used, 0)
        self.used = used
        guard used >= Self.leastBytes else { return nil }
        let reserve = min(max(written * Self.commits, Self.leastBytes), Self.mostBytes)
        guard length - used < reserve / 2 else { return nil }
        length = used + reserve
        return length
    }

    /// To where the file is to be made longer while nobody waits for it, until it is as long as the log may become.
    /// Nil: it is.
    mutating func piece(of whole: Int) -> Int? {
        guard length < whole else { return nil }
        length = min(max(length, used) + Self.mostBytes, whole)
        return length
    }
}
