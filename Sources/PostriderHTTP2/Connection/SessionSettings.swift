/// The bounds of one connection. The first group is told to the peer, the second is kept by us.
public struct SessionSettings: Sendable {
    /// Streams the peer may have open at once. A server's only: our clients take no pushed streams.
    public var maxConcurrentStreams: UInt32 = 1000
    /// Bytes of one body that the peer may send before it is given more.
    public var initialWindowSize: UInt32 = 65_535
    /// The same for all bodies together.
    public var connectionWindowSize: Int32 = 1 << 20
    /// Payload of the largest frame we take.
    public var maxFrameSize: UInt32 = 16_384
    /// Bytes of the HPACK table of what the peer sends (SETTINGS_HEADER_TABLE_SIZE). Below 4096, the initial size, the
    /// peer must answer with a table size update (RFC 7541, section 4.2), which nginx and HAProxy do not send.
    public var headerTableSize: UInt32 = 4096
    /// Size of a decoded header block as RFC 9113, section 6.5.2 counts it. More costs the peer the
    /// connection.
    public var maxHeaderListBytes = 8000

    /// Bytes of the HPACK table of what we send; 0: none. The peer is told of it with the first header block.
    public var encoderTableSize: UInt32 = 4096
    /// Whether a server decodes the header blocks of requests itself where it can, and appends the field of
    /// ``HTTP2Connection/respondOK(_:_:_:)`` itself. That is faster, and takes 20 KiB for each connection. Otherwise
    /// nghttp2 does both.
    public var readsHeaderBlocks = true
    /// Fields of a header block. More costs the peer the connection.
    public var maxHeaderFields = 100
    /// Frames that wait to be sent; more means that the peer provokes answers and does not read them. A
    /// server's only: what a client has queued is its own requests.
    public var maxQueuedFrames = 5000
    /// Frames in a row that carry nothing, resets among them (see `HTTP2Connection.forgiveEmptyFrames()`).
    public var maxEmptyFrames = 10_000
    /// Streams after which the peer is judged: where most of them are cut short, within a second of their opening or
    /// by our own RST_STREAM, it loses the connection. 0: never.
    public var judgedStreams = 500
    /// Bytes that one streaming body may have waiting here for the peer's window or socket; more is noted in
    /// `HTTP2Connection.isOverfull`.
    public var maxOutboundBytes = 1 << 20
    /// Whether received bytes open the windows again by themselves; if not, `HTTP2Connection.consume` does.
    public var automaticWindowUpdates = true

    /// What a server's GOAWAY says to a client that speaks HTTP/1, before the request line of this client. Others that
    /// do not begin with the preface of HTTP/2 get the sentence of ``SessionError/notHTTP2``, as all do without this.
    public var http1Greeting: StaticString?

    /// The bounds of a server that looks like Apple's.
    public init() {}

    /// What a server says to a peer that began with these bytes and not with HTTP/2's preface; nil if the error's own
    /// words are to be said.
    func describe(foreign bytes: Span<UInt8>) -> String? {
        guard let http1Greeting else { return nil }
        let line = unsafe bytes.withUnsafeBufferPointer { all in
            unsafe all.prefix(120).prefix { (0x20..<0x7F).contains($0) }.map { $0 }
        }
        let text = String(decoding: line, as: UTF8.self)
        return text.contains(" HTTP/1.") ? "\(http1Greeting)\(text)" : nil
    }
}
