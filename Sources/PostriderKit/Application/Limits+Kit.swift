import PostriderNotifications

extension Limits {
    /// Notifications that an application remembers as having failed, or having been given back: as many as an agent
    /// keeps for it. At 16 bytes each: 16 KiB.
    static let givenBackPerApp = 1000
    /// Milliseconds that an agent has to answer an application that connects, until that says so.
    static let agentAnswerMilliseconds = 5_000
}
