public import PostriderNotifications

extension Limits {
    /// Bytes of the URL of a callback.
    public static let callbackURLBytes = 1024
    /// URLs that the operator may allow.
    public static let callbackPrefixes = 100
    /// Pushes whose callbacks are expected; beyond that the oldest are forgotten. At about 400 bytes each: 26 MiB.
    public static let callbackPushes = 65_536
    /// Callbacks that are owed to all receivers, and to one of them. At about 1 KiB each: 20 MiB.
    public static let callbacksOwed = (all: 20_000, each: 10_000)
    /// Requests to all receivers that are under way at once, and to one of them. Each has a connection.
    public static let callbacksUnderWay = (all: 16, each: 4)
    /// Seconds from a failed attempt to the next. After the last one, the callback is given up: after 43 minutes.
    public static let callbackDelaySeconds: [UInt64] = [1, 5, 30, 120, 600, 1800]
    /// Milliseconds for the connection to a receiver, TLS included, and for the whole request.
    public static let callbackMilliseconds = (connection: 5_000, whole: 10_000)
}
