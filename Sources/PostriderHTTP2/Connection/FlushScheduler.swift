/// Sends what a connection has to say at the end of the turn.
public protocol FlushScheduler: AnyObject {
    /// ``HTTP2Connection/drain(into:)`` is to be called: the connection has something to send, or more than it keeps
    /// (``HTTP2Connection/isOverfull``). Called by each verb of the connection, except during `receive` and `drain`.
    func setNeedsFlush()
}
