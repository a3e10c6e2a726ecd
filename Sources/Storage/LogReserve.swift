/// How long the file of a write-ahead log is made ahead of what is written to it.
///
/// A sync of bytes that make a file longer waits until the file system has written down the new length and where
/// the bytes lie, and with that what everybody else changed meanwhile; a sync of bytes within the file waits for
/// these bytes alone. So a log that is about to grow is made longer by a good piece at once, and one commit of many
/// pays for it.
struct LogReserve {
    /// A log of less is left alone: most of those never grow.
    static let leastBytes = 64 << 10
    /// At most so many bytes more at once: the commit that comes next waits for them.
    static let mostBytes = 1 << 20

    /// How long the file is, as far as is known here; what its log needs beyond that has made it longer.
    private var length = 0

    /// To where the file is to be made longer now that the log takes so many bytes of it. Nil: it is long enough.
    mutating func length(afterBytes used: Int) -> Int? {
        guard used >= Self.leastBytes else { return nil }
        let reserve = min(used, Self.mostBytes)
        guard length - used < reserve / 2 else { return nil }
        length = used + reserve
        return length
    }
}
