/// The role of a header block on its stream (RFC 9113, section 8.1).
public enum BlockKind: Sendable {
    /// The request at a server, the final response at a client.
    case head
    /// An interim response (1xx); the head is still to come.
    case informational
    /// The fields after the body.
    case trailers
}

/// What a connection tells its owner.
///
/// Called synchronously from ``HTTP2Connection/receive(_:)`` and ``HTTP2Connection/drain(into:)``, on the thread that
/// called these. A handler may call every verb of the connection from inside, except these two.
public protocol SessionHandler: AnyObject {
    /// A complete header block. `endStream`: nothing follows, and `ended` is called next. The block is the
    /// connection's own and is refilled by the next one: read it now, or keep it and leave another in its place.
    func headers(_ stream: Int32, _ block: inout HeaderBlock, kind: BlockKind, endStream: Bool)
    /// Bytes of the body, in pieces as they arrive.
    func data(_ stream: Int32, _ bytes: Span<UInt8>)
    /// The peer has said everything on this stream.
    func ended(_ stream: Int32)
    /// The stream is gone: called exactly once for each stream that had a head (at a client: that was
    /// requested). Outside of `ErrorCode.noError` it did not end well, whoever was the cause.
    func closed(_ stream: Int32, errorCode: UInt32)
    /// The buffer of a streaming body has been taken entirely. Called from `drain`; `send` is welcome.
    func writable(_ stream: Int32)
    /// The peer takes no streams above `lastStream` any more.
    func goawayReceived(lastStream: Int32, errorCode: UInt32, debug: [UInt8])
    /// The peer answered our PING.
    func pingAcknowledged()
    /// The peer acknowledged settings of ours.
    func settingsAcknowledged()
    /// Settings of the peer are in force.
    func settingsReceived(maxConcurrentStreams: UInt32)
}

extension SessionHandler {
    /// Nothing; for owners that stream nothing.
    public func writable(_ stream: Int32) {}
    /// Nothing.
    public func pingAcknowledged() {}
    /// Nothing.
    public func settingsAcknowledged() {}
    /// Nothing.
    public func settingsReceived(maxConcurrentStreams: UInt32) {}
}
