/// Asks a connection's owner to flush it at the end of the turn.
public protocol FlushScheduler: AnyObject {
    /// Asks for a call of ``HTTP2Connection/drain(into:)``: the connection has something to send, or holds more than it
    /// may (``HTTP2Connection/isOverfull``). Every method of the connection that queues something calls this, except
    /// during `receive` and `drain`.
    func setNeedsFlush()
}
