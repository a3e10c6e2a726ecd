public import PostriderNotifications

extension Limits {
    /// Pushes whose spans are followed; beyond that the oldest are forgotten. At about 300 bytes each: 20 MiB.
    public static let spanPushes = 65_536
    /// Spans that wait to be sent; more are dropped. At about 300 bytes each: 5 MiB.
    public static let spansWaiting = 16_384
    /// Spans of one request. At about 400 bytes each: 200 KiB.
    public static let spanBatch = 512
    /// Milliseconds for which a span may wait for others of its batch.
    public static let spanDelayMilliseconds = 1_000
    /// Seconds from a failed request to the next with the same batch. After the last one, the batch is dropped.
    public static let spanRetrySeconds: [UInt64] = [1, 2, 5, 15, 30]
    /// Milliseconds in which the spans that wait are sent when the relay ends.
    public static let spanEndMilliseconds: UInt64 = 3_000
    /// One push of at most this many has a trace of its own, if its provider sent none.
    public static let spanSample = 1...1_000_000
}
