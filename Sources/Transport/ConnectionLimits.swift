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
    /// How long output may wait for the peer until all of it has gone. Milliseconds.
    public var writeMilliseconds = 20_000
    /// How long a closed connection listens for the peer's own end, so that our last words are not lost to a
    /// reset (RFC 9112, 9.6). Milliseconds; 0: not at all.
    public var lingerMilliseconds = 2_000
    /// How many reads (each at most 64 KiB) one connection gets before others have their turn.
    public var readsPerTurn = 4
    /// Whether a peer that does not take our output is still listened to.
    public var whileBlocked: WhileBlocked
    /// A listener refuses connections when fewer descriptors than this are left to the process.
    public var descriptorReserve = 64

    /// The bounds of an accepted connection.
    public static let server = ConnectionLimits(whileBlocked: .pausesReading)
    /// The bounds of a connection that this side opened.
    public static let client = ConnectionLimits(whileBlocked: .keepsReading)
}
