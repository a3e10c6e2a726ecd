public import PostriderNotifications

extension Limits {
    /// The most rules of a list. With the longest conditions, each takes about 8 KiB: 2 MiB in total.
    public static let rules = 256
    /// The most phases of a list.
    public static let rulePhases = 100
    /// The most tokens, connections or identities for which one rule keeps separate counts (`per`). Beyond that, the
    /// counts restart. Each takes about 300 bytes: 3 MiB per rule.
    public static let ruleCounts = 10_000
    /// The most device tokens that rules have unregistered; beyond that, the first one becomes valid again. Each
    /// takes about 300 bytes: 3 MiB in total.
    public static let unregisteredTokens = 10_000
    /// The most pushes whose devices a rule is still to disturb, and the most devices that rules keep away; beyond
    /// that, the first one is forgotten. Each takes about 100 bytes: 1 MiB for either.
    public static let disturbedDevices = 10_000
    /// The most connections in a row that a rule may show an expired certificate.
    public static let expiredCertificates = 1000
    /// The most milliseconds for which a rule may delay an answer, stall its body or apply: one hour.
    public static let ruleMilliseconds = 60 * 60 * 1000
}
