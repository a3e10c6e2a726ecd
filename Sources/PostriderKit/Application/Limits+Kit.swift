import PostriderNotifications

extension Limits {
    /// The most notifications that an application remembers as failed or returned, which is as many as an agent keeps
    /// for it. Each takes 16 bytes, in total 16 KiB.
    static let givenBackPerApp = 1000
    /// How long an agent may take to answer a new connection before the application reports it, in milliseconds.
    static let agentAnswerMilliseconds = 5_000
}
