/// Who ended a connection, and why.
public enum CloseReason: Sendable, Equatable, CustomStringConvertible {
    /// This side closed the connection because it had nothing more to send.
    case localClose
    /// The peer closed the connection in order.
    case peerClosed
    /// The peer or the network reset the connection.
    case peerReset
    /// The connection could not be established: nobody listens at the address, or there is no route to it. The
    /// payload is a whole sentence.
    case refused(String)
    /// The connection was not established in time.
    case connectTimeout
    /// The TLS handshake failed. The payload is a whole sentence. The name is the standard name of the alert, or
    /// OpenSSL's name of the error; nil if the connection broke.
    case handshakeFailed(String, name: String? = nil)
    /// The peer sent something other than a TLS ClientHello.
    case notTLS(Preamble)
    /// The load balancer did not say whose connection it is. The payload is a whole sentence.
    case notIntroduced(String)
    /// The proxy did not connect this side to the server. The payload is a sentence without a full stop that names the
    /// proxy.
    case proxyFailed(String)
    /// The TLS handshake was not complete in time.
    case handshakeTimeout
    /// Output was blocked by the peer for longer than the limit.
    case writeTimeout
    /// More output was blocked by the peer than this side keeps in memory.
    case outputNotTaken
    /// The peer began a message or an action and did not complete it in time.
    case stalled(String)
    /// The peer sent nothing for longer than the handler allows.
    case idleTimeout
    /// The peer does not speak the protocol of this port (ALPN).
    case protocolNotNegotiated
    /// The peer broke the protocol. The name is the standard name of the error: `COMPRESSION_ERROR` (RFC 9113,
    /// section 7), `bad_record_mac` (RFC 8446, section 6).
    case protocolError(String, name: String? = nil)
    /// A library on this side failed. The payload is a whole sentence.
    case internalError(String)
    /// This side has no resources left for the connection.
    case overloaded
    /// The event loop ended.
    case loopStopped

    /// One phrase that logs print.
    public var description: String {
        switch self {
        case .localClose: "closed by this side"
        case .peerClosed: "closed by the peer"
        case .peerReset: "reset by the peer (ECONNRESET)"
        case .refused(let why): "refused: \(why)"
        case .connectTimeout: "no connection in time"
        case .handshakeFailed(let why, _): why
        case .notTLS(let preamble): preamble.sentence
        case .notIntroduced(let why), .proxyFailed(let why): why
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

    /// The standard name of what the peer did wrong, or of the reason if it has none: `COMPRESSION_ERROR`,
    /// `unknown_ca`, `stalled`. The log groups repeated lines by this name. nil if the connection ended in order or
    /// broke.
    public var fault: String? {
        switch self {
        case .handshakeFailed(_, let name): name
        case .notTLS(let preamble): "\(preamble)"
        case .notIntroduced: "PROXY header"
        case .protocolError(_, let name): name ?? "protocol error"
        case .handshakeTimeout: "handshake timeout"
        case .writeTimeout: "write timeout"
        case .outputNotTaken: "output not taken"
        case .stalled: "stalled"
        case .protocolNotNegotiated: "no_application_protocol"
        case .localClose, .peerClosed, .peerReset, .refused, .proxyFailed, .connectTimeout, .idleTimeout,
            .internalError,
            .overloaded,
            .loopStopped:
            nil
        }
    }
}
