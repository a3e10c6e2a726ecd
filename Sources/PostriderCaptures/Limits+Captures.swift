public import PostriderNotifications

extension Limits {
    /// Requests that are captured; beyond that the oldest goes.
    public static let captures = 10_000
    /// Bytes of all captured requests together, 400 for each beside its headers and payload.
    public static let captureBytes = 32 * 1024 * 1024
    /// Things that happened to one captured push after its answer, each at 32 bytes.
    public static let captureEvents = 32
    /// Hexadecimal digits that a device token has at the least which a relay for tests accepts without having given it
    /// out.
    public static let strangeTokenDigits = 64
    /// Requests in one answer about them. With the largest headers and payloads, at 14 KiB each: 14 MiB.
    public static let capturesInAnswer = 1000
    /// Milliseconds for which somebody may wait for captures: a minute, below what proxies and clients wait for.
    public static let captureWaitMilliseconds = 60_000
    /// Callers that wait for captures at once.
    public static let captureWaiters = 64
}
