public import PostriderNotifications

extension Limits {
    /// Rules of one list. With the longest conditions about 8 KiB each: 2 MiB.
    public static let rules = 256
    /// Tokens, connections or identities for which one rule counts on its own (`per`). Beyond that the counts begin
    /// anew. At about 300 bytes each: 3 MiB a rule.
    public static let ruleCounts = 10_000
    /// Device tokens that rules have unregistered; beyond that the one that was first is good again. At about 300
    /// bytes each: 3 MiB.
    public static let unregisteredTokens = 10_000
    /// Milliseconds that a rule may hold an answer back, stall its body or last: an hour.
    public static let ruleMilliseconds = 60 * 60 * 1000
}
