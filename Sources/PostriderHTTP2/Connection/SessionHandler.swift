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
    /// A header block is complete. `endStream`: nothing follows, and `ended` is called next. The connection reuses the
    /// block for the next one: read it during the call, or keep it and leave another block in its place.
    func headers(_ stream: Int32, _ block: inout HeaderBlock, kind: BlockKind, endStream: Bool)
    /// Bytes of the body, in pieces as they arrive.
    func data(_ stream: Int32, _ bytes: Span<UInt8>)
    /// The peer has ended the stream (END_STREAM).
    func ended(_ stream: Int32)
    /// The stream is closed. Called exactly once for each stream that had a header block (at a client: a request). Any
    /// code other than `ErrorCode.noError` means that it did not end well, whichever end caused that.
    func closed(_ stream: Int32, errorCode: UInt32)
    /// All bytes of a streaming body were put into frames. Called from `drain`; the handler may call `send`.
    func writable(_ stream: Int32)
    /// The peer serves no streams above `lastStream` any more.
    func goawayReceived(lastStream: Int32, errorCode: UInt32, debug: [UInt8])
    /// The peer answered our PING.
    func pingAcknowledged()
    /// The peer acknowledged settings of ours.
    func settingsAcknowledged()
    /// The peer's SETTINGS are in force.
    func settingsReceived(maxConcurrentStreams: UInt32)
}

extension SessionHandler {
    /// Does nothing: for handlers without streaming bodies.
    public func writable(_ stream: Int32) {}
    /// Does nothing.
    public func pingAcknowledged() {}
    /// Does nothing.
    public func settingsAcknowledged() {}
    /// Does nothing.
    public func settingsReceived(maxConcurrentStreams: UInt32) {}
}
