/// The bounds of one connection. Each phase in which the peer can keep us waiting has its deadline.
public struct ConnectionLimits: Sendable {
    /// Whether a peer that does not take our output is still listened to.
    public enum WhileBlocked: Sendable {
        /// A server stops reading: what a peer makes it answer stays bounded.
        case pausesReading
        /// A client goes on reading: both ends waiting for each other would be a deadlock.
        case keepsReading
    }

    /// From the first byte of TCP to the end of the TLS handshake. Milliseconds.
    public var handshakeMilliseconds = 5_000
    /// How long an attempt to connect may stay unanswered until one to the host's next address begins beside it (RFC
    /// 8305, section 5: 250 ms, and not below 100 ms). Milliseconds.
    public var attemptMilliseconds = 250
    /// How long output may wait for the peer until all of it has gone. Milliseconds.
    public var writeMilliseconds = 20_000
    /// How long a closed connection listens for the peer's own end, so that our last words are not lost to a
    /// reset (RFC 9112, 9.6). Milliseconds; 0: not at all.
    public var lingerMilliseconds = 2_000
    /// How many reads one connection gets before others have their turn.
    public var readsPerTurn = 4
    /// Bytes of one read, 64 KiB at most; with TLS room for a record at least (``TLSSession/leastRoom``).
    public var bytesPerRead = 64 * 1024
    /// After how many requests within a turn (see `ConnectionHandler.requestsReceived`) a connection is read no
    /// further. It goes beyond by those in one read at most.
    public var requestsPerTurn = 256
    /// How long it is between two looks at what a peer keeps its session waiting for. Milliseconds.
    public var lookMilliseconds = 1_000
    /// Whether a peer that does not take our output is still listened to.
    public var whileBlocked: WhileBlocked
    /// A listener refuses connections when fewer descriptors than this are left to the process.
    public var descriptorReserve = 64

    /// The bounds of an accepted connection.
    public static let server = ConnectionLimits(bytesPerRead: 17 * 1024, whileBlocked: .pausesReading)
    /// The bounds of a connection that this side opened.
    public static let client = ConnectionLimits(whileBlocked: .keepsReading)
}
