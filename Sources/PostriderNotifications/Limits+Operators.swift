extension Limits {
    /// Tokens of plain sends. Each request with a token is compared with all of them.
    public static let sendTokens = 1000
    /// Topics of one token of plain sends.
    public static let topicsOfSendToken = 32
    /// Bytes of one file of the audit. A change takes about 300 bytes.
    public static let auditFileBytes = 4 << 20
    /// Files of the audit, the newest included: 32 MiB, about 100,000 changes.
    public static let auditFiles = 8
}

extension Limits {
    /// Milliseconds that TLS handshakes have to finish when the relay is stopped.
    public static let drainHandshakeMilliseconds = 1_000
    /// Quotas in a configuration. At about 200 bytes each: 20 KiB.
    public static let quotas = 100
    /// Teams and topics whose quotas metrics name; all others are counted together.
    public static let measuredQuotas = 100
    /// MiB of disk space that the segments of the trace take: the least, the default and the most.
    public static let traceMebibytes = (least: 32, usual: 256, most: 1_048_576)
    /// Channels that one list has: those that were created first.
    public static let listedChannels = 1_000
    /// Provider keys whose ends metrics have: those that end first.
    public static let measuredKeys = 100
    /// The largest number in a quota.
    public static let quota = 1_000_000_000
}
