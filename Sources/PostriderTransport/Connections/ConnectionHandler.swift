/// The protocol state of one connection. A ``Connection`` calls it, and it never sees a socket. All calls come on the
/// thread of the loop that holds the connection, and none comes from inside a call that the handler itself makes on
/// its ``ConnectionOutput``.
public protocol ConnectionHandler: AnyObject {
    /// The connection is established, including TLS. This is the first call, and it is made once.
    func opened(on wire: any ConnectionOutput)

    /// Bytes arrived from the peer. The span is valid only during the call.
    func received(_ bytes: Span<UInt8>)

    /// The peer has ended its output, and may still read ours. Called at most once; `received` is not called after
    /// it.
    func inputEnded()

    /// The handler appends everything that it wants to send now to `output`. Called once a turn after
    /// `setNeedsFlush()`, and after blocked output has been written; never while output waits for the socket.
    func flush(into output: inout [UInt8])

    /// Whether the handler waits for something that the peer has to do within a time limit. While this is true,
    /// `look()` is called about once a second; otherwise the connection needs no timer.
    var isKeptWaiting: Bool { get }

    /// About a second has passed since the last call; see `isKeptWaiting`. The handler checks its time limits.
    func look()

    /// The number of requests that the peer has made so far. A connection whose peer makes many requests in one turn
    /// leaves the rest of its input to the next turn.
    var requestsReceived: Int { get }

    /// The connection is gone. This is the last call. It is made exactly once, even if the connection never opened.
    func closed(_ reason: CloseReason)
}

extension ConnectionHandler {
    /// The default is false: the handler has no time limits.
    public var isKeptWaiting: Bool { false }
    /// The default does nothing.
    public func look() {}
    /// The default is 0: the handler does not count requests.
    public var requestsReceived: Int { 0 }
}
