/// The bounds of one connection. The first group is announced to the peer; we enforce the second.
public struct SessionSettings: Sendable {
    /// Streams the peer may have open at once. A server's only: our clients take no pushed streams.
    public var maxConcurrentStreams: UInt32 = 1000
    /// Bytes of one body that the peer may send before it is given more.
    public var initialWindowSize: UInt32 = 65_535
    /// Bytes of all bodies together that the peer may send before it is given more.
    public var connectionWindowSize: Int32 = 1 << 20
    /// Payload of the largest frame we take.
    public var maxFrameSize: UInt32 = 16_384
    /// Bytes of the HPACK table for received blocks (SETTINGS_HEADER_TABLE_SIZE). Below 4096, the initial size, the
    /// peer has to answer with a table size update (RFC 7541, section 4.2), which nginx and HAProxy do not send.
    public var headerTableSize: UInt32 = 4096
    /// The largest decoded header block, counted as RFC 9113, section 6.5.2 does. A larger one ends the connection.
    public var maxHeaderListBytes = 8000

    /// Bytes of the HPACK table for the blocks that we send; 0 for none. The first header block tells the peer.
    public var encoderTableSize: UInt32 = 4096
    /// Whether a server decodes the header blocks of requests with ``HPACKDecoder`` where it can, and appends the field
    /// of ``HTTP2Connection/respondOK(_:_:_:)`` itself. That is faster and takes 20 KiB for each connection. If false,
    /// nghttp2 does both.
    public var readsHeaderBlocks = true
    /// Fields of a header block. More end the connection.
    public var maxHeaderFields = 100
    /// Frames that wait to be sent; more mean that the peer provokes answers and does not read them. For servers only:
    /// a client queues its own requests.
    public var maxQueuedFrames = 5000
    /// Frames without content that a peer may send in a row, RST_STREAM included (see
    /// `HTTP2Connection.forgiveEmptyFrames()`).
    public var maxEmptyFrames = 10_000
    /// After this many streams the peer is judged: if most of them were cut short, within a second of their opening or
    /// by our own RST_STREAM, the connection ends. 0: never.
    public var judgedStreams = 500
    /// Bytes that may wait on one streaming body for the peer's window or socket. More set
    /// `HTTP2Connection.isOverfull`.
    public var maxOutboundBytes = 1 << 20
    /// Whether windows open again as soon as bytes are received. If not, `HTTP2Connection.consume` opens them.
    public var automaticWindowUpdates = true

    /// The debug data of a server's GOAWAY to a client that speaks HTTP/1; the client's request line follows it. Other
    /// peers that do not send the HTTP/2 preface get the sentence of ``SessionError/notHTTP2``, and all do if this is
    /// nil.
    public var http1Greeting: StaticString?

    /// The default bounds, which are Apple's where a client can see them.
    public init() {}

    /// The debug data of a server's GOAWAY to a peer that sent these bytes instead of HTTP/2's preface; nil for the
    /// error's own sentence.
    func describe(foreign bytes: Span<UInt8>) -> String? {
        guard let http1Greeting else { return nil }
        let line = unsafe bytes.withUnsafeBufferPointer { all in
            unsafe all.prefix(120).prefix { (0x20..<0x7F).contains($0) }.map { $0 }
        }
        let text = String(decoding: line, as: UTF8.self)
        return text.contains(" HTTP/1.") ? "\(http1Greeting)\(text)" : nil
    }
}
