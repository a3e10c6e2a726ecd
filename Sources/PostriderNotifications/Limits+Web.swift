/// The bounds of the web port (HTTP/1.1, WebSocket and Web Push).
extension Limits {
    /// The most bytes of a request's head, and of each chunk line and the trailers. As much as on the provider port.
    public static let webHeadBytes = 8000
    /// The most fields of a request's head.
    public static let webHeadFields = 100
    /// The most bytes of the message of a Web Push (RFC 8030, section 7.2, demands at least as many).
    public static let webPushBytes = 4096
    /// The most bytes of a body that is read to its end, so that its sender gets an answer; of these,
    /// ``webPushBytes`` and one more are kept.
    public static let webDrainedBytes = 65_536
    /// The most bytes of requests that wait, on a connection, for the answer to the one before them. Then the
    /// connection is not read.
    public static let webWaitingBytes = 16_384
    /// The most requests that one HTTP/2 connection of the web port may have open.
    public static let webStreams: UInt32 = 100
    /// Days for which a receipt is kept beyond its message's time to live, if its sender does not fetch it.
    public static let receiptDays: Int64 = 7
    /// Receipts of one receipt subscription that its sender has not removed, at about 120 bytes each: 1.2 MiB. A
    /// further one takes the place of the oldest.
    public static let receiptsOfSubscription = 10_000
    /// The same of all subscriptions of one shard: 12 MiB. Then a further one takes the place of the oldest of its
    /// subscription, and one of a subscription without any is dropped.
    public static let receipts = 100_000
    /// Receipts in one answer: 32 KiB.
    public static let receiptsAtOnce = 100
    /// Requests that may wait for receipts of one subscription at the same time. A further one ends the oldest.
    public static let receiptReaders = 4
    /// Seconds that a request may wait for a receipt: as long as it wants, up to the second value. Both are below the
    /// minute after which proxies give up on a silent request.
    public static let receiptWaitSeconds = (usual: 30, most: 50)
    /// The most bytes of a WebSocket message of a device.
    public static let webMessageBytes = 16_384
    /// The most fragments of a WebSocket message.
    public static let webFragments = 64
    /// Milliseconds for a request's head and body, counted from its first byte, and for a fragmented message.
    public static let webRequestMilliseconds = 15_000
    /// Milliseconds after which a WebSocket is sent a ping. If nothing arrives until the next one, it is cut.
    public static let webPingMilliseconds = 5 * 60 * 1000
    /// Milliseconds that a connection may stay open without a request.
    public static let webIdleMilliseconds = 60_000
}
