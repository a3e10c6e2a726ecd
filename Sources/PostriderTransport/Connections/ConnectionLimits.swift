/// The limits of one connection. Every phase in which the peer can keep this side waiting has a deadline.
public struct ConnectionLimits: Sendable {
    /// Whether a connection reads on while its peer does not take our output.
    public enum WhileBlocked: Sendable {
        /// A server stops reading, so that the output which the peer's requests cause stays bounded.
        case pausesReading
        /// A client goes on reading. If both ends stopped, they would wait for each other for ever.
        case keepsReading
    }

    /// The time from accepting the connection to the end of the TLS handshake, in milliseconds.
    public var handshakeMilliseconds = 5_000
    /// How long an attempt to connect may stay unanswered until an attempt to the host's next address starts beside
    /// it, in milliseconds. RFC 8305, section 5, recommends 250 ms and no less than 100 ms.
    public var attemptMilliseconds = 250
    /// How long the connection may take to write blocked output completely, in milliseconds.
    public var writeMilliseconds = 20_000
    /// How long a closed connection waits for the peer's end of input, so that a reset does not destroy our last
    /// output (RFC 9112, section 9.6). Milliseconds; 0 means not at all.
    public var lingerMilliseconds = 2_000
    /// The most reads of one connection in a turn.
    public var readsPerTurn = 4
    /// The bytes of one read: at most 64 KiB, and with TLS at least a full record (``TLSSession/leastRoom``).
    public var bytesPerRead = 64 * 1024
    /// A connection stops reading in a turn after this many requests (see `ConnectionHandler.requestsReceived`). It
    /// may exceed the number by the requests in one read.
    public var requestsPerTurn = 256
    /// The time between two calls of `ConnectionHandler.look()`, in milliseconds.
    public var lookMilliseconds = 1_000
    /// Whether the connection reads on while the peer does not take our output.
    public var whileBlocked: WhileBlocked
    /// A listener refuses connections while the process has fewer free descriptors than this.
    public var descriptorReserve = 64

    /// The limits of an accepted connection.
    public static let server = ConnectionLimits(bytesPerRead: 17 * 1024, whileBlocked: .pausesReading)
    /// The limits of a connection that this side opened.
    public static let client = ConnectionLimits(whileBlocked: .keepsReading)
}
