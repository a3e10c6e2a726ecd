public import PostriderNotifications

extension Limits {
    /// The most requests that are captured; beyond that the oldest is dropped.
    public static let captures = 10_000
    /// The most bytes of all captured requests together, including 400 for each beside its headers and payload.
    public static let captureBytes = 32 * 1024 * 1024
    /// The most events of one captured push, at 32 bytes each.
    public static let captureEvents = 32
    /// The least number of hexadecimal digits in a device token that a relay for tests accepts without having issued
    /// it.
    public static let strangeTokenDigits = 64
    /// The most requests in one answer. With the largest headers and payloads, at 14 KiB each: 14 MiB.
    public static let capturesInAnswer = 1000
    /// The most milliseconds for which a caller may wait for captures: a minute, which is shorter than the timeouts
    /// of proxies and clients.
    public static let captureWaitMilliseconds = 60_000
    /// The most captures that a program that follows them on the control socket gets at once: 448 KiB if they are as
    /// large as they can be.
    public static let capturesInEvents = 32
    /// The most connections to the HTTP/1.1 port for captures, each with a thread of its own.
    public static let captureConnections = 64
    /// Seconds without progress after which a connection to that port is closed: longer than anybody waits.
    public static let captureConnectionSeconds = 90
    /// The bytes of memory for the head of a request to that port.
    public static let captureConnectionBytes = 32_768
    /// The most bytes of the rules that are sent to that port, as on the control socket.
    public static let ruleBytes = 131_072
    /// Milliseconds of silence after which a stream of captures gets a comment, so that a client that has left is
    /// noticed.
    public static let captureSilenceMilliseconds = 15_000
    /// The most bytes of another server's answer that are captured, besides its header fields.
    public static let captureAnswerBytes = 4096
    /// Milliseconds within which another server has to answer a request that is passed on to it: longer than APNs
    /// takes, and shorter than clients wait.
    public static let upstreamMilliseconds = 20_000
    /// Milliseconds within which a connection to that server has to be there.
    public static let upstreamConnectMilliseconds = 5_000
    /// The most callers that wait for captures at once.
    public static let captureWaiters = 64
}
