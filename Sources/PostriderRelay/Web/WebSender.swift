import PostriderNotifications
import PostriderWeb

/// A connection over which senders' requests come. It passes on their answers.
protocol WebSender: AnyObject {
    /// The connection's number, which is never used again.
    var number: UInt64 { get }

    /// Answers a request, if it still waits.
    func answer(_ stream: Int32, _ response: WebResponse)

    /// Answers open requests and ends.
    func drain()

    /// Ends at once.
    func abort()
}
