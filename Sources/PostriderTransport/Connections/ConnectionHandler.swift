/// What a connection calls: the state of a protocol, which never sees a socket. All calls come on the loop
/// that holds the connection, and none comes from inside a call that the session itself makes on its wire.
public protocol ConnectionHandler: AnyObject {
    /// The connection is established, TLS included. First call, once.
    func opened(on wire: any ConnectionOutput)

    /// Bytes from the peer. The span is valid during the call only.
    func received(_ bytes: Span<UInt8>)

    /// The peer will send nothing more; it may still be listening. At most once; nothing is received after
    /// it.
    func inputEnded()

    /// Everything that is to be sent now is to be appended to `output`. Called after `setNeedsFlush()`,
    /// once a turn, and after blocked output has gone; never while output waits for the socket.
    func flush(into output: inout [UInt8])

    /// Whether the peer keeps this session waiting for something that has its time. As long as it does, `look()` is
    /// called about once a second; otherwise the connection needs no timer.
    var isKeptWaiting: Bool { get }

    /// Another second has gone by; see `isKeptWaiting`.
    func look()

    /// How many requests the peer has made so far, each of which is work. A connection that makes many in one turn
    /// waits for the next with what it has not read.
    var requestsReceived: Int { get }

    /// The connection is gone. Last call, exactly once, even if the connection never opened.
    func closed(_ reason: CloseReason)
}

extension ConnectionHandler {
    /// Never.
    public var isKeptWaiting: Bool { false }
    /// Nothing.
    public func look() {}
    /// None that are counted.
    public var requestsReceived: Int { 0 }
}
