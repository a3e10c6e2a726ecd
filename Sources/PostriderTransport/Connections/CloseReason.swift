/// Who ended a connection, and why.
public enum CloseReason: Sendable, Equatable, CustomStringConvertible {
    /// This side had nothing more to say.
    case localClose
    /// The peer closed in order.
    case peerClosed
    /// The peer, or the network, cut the connection.
    case peerReset
    /// No connection came about: nobody listens, or there is no way there.
    case refused(String)
    /// No connection came about in time.
    case connectTimeout
    /// TLS was not agreed on; a whole sentence. The name is TLS's or OpenSSL's for what the peer did wrong; nil if the
    /// connection broke.
    case handshakeFailed(String, name: String? = nil)
    /// What came instead of TLS.
    case notTLS(Preamble)
    /// TLS was not agreed on in time.
    case handshakeTimeout
    /// Output waited for the peer longer than the limit.
    case writeTimeout
    /// More output waited for the peer than is kept.
    case outputNotTaken
    /// The peer began something and did not go on in time.
    case stalled(String)
    /// Nothing was heard from the peer for longer than its session allows.
    case idleTimeout
    /// The peer does not speak the protocol of this port.
    case protocolNotNegotiated
    /// The peer broke the protocol. The name is the one by which the protocol knows the error: `COMPRESSION_ERROR` (RFC
    /// 9113, section 7), `bad_record_mac` (RFC 8446, section 6).
    case protocolError(String, name: String? = nil)
    /// A library of this side failed; a whole sentence.
    case internalError(String)
    /// This side has no room for the connection.
    case overloaded
    /// The event loop ended.
    case loopStopped

    /// One phrase for logs.
    public var description: String {
        switch self {
        case .localClose: "closed by this side"
        case .peerClosed: "closed by the peer"
        case .peerReset: "reset by the peer (ECONNRESET)"
        case .refused(let why): "refused: \(why)"
        case .connectTimeout: "no connection in time"
        case .handshakeFailed(let why, _): why
        case .notTLS(let preamble): preamble.sentence
        case .handshakeTimeout: "no TLS handshake in time"
        case .writeTimeout: "the peer did not read what was sent in time"
        case .outputNotTaken: "too much output waited for the peer"
        case .stalled(let what): "the peer did not continue in time: \(what)"
        case .idleTimeout: "nothing was received from the peer in time"
        case .protocolNotNegotiated: "the peer does not speak the protocol of this port"
        case .protocolError(let why, _): "the peer broke the protocol: \(why)"
        case .internalError(let why): why
        case .overloaded: "no room"
        case .loopStopped: "the event loop ended"
        }
    }

    /// What the peer did wrong, by its standard name where it has one: `COMPRESSION_ERROR`, `unknown_ca`, `stalled`.
    /// Lines of the log with the same name repeat each other. Nil if the connection ended in order, or broke.
    public var fault: String? {
        switch self {
        case .handshakeFailed(_, let name): name
        case .notTLS(let preamble): "\(preamble)"
        case .protocolError(_, let name): name ?? "protocol error"
        case .handshakeTimeout: "handshake timeout"
        case .writeTimeout: "write timeout"
        case .outputNotTaken: "output not taken"
        case .stalled: "stalled"
        case .protocolNotNegotiated: "no_application_protocol"
        case .localClose, .peerClosed, .peerReset, .refused, .connectTimeout, .idleTimeout, .internalError,
            .overloaded,
            .loopStopped:
            nil
        }
    }
}
