public import PostriderTransport

/// Why a request has no answer. None of these is the server's verdict on the request: that is a response.
public enum ClientError: Error, Equatable, Sendable, CustomStringConvertible {
    /// No connection came about; nothing was sent.
    case notConnected(CloseReason)
    /// The connection ended; the server may have worked the request off or not.
    case disconnected(CloseReason)
    /// The server takes no further requests on this connection and did not touch this one: it may be made
    /// again on another.
    case unprocessed
    /// The server gave the request up, with this error code (RFC 9113, section 7).
    case reset(errorCode: UInt32)
    /// There was no answer in time.
    case timedOut
    /// The answer is larger than this client takes.
    case responseTooLarge(limit: Int)
    /// The client holds as many requests as it may.
    case overloaded

    /// One sentence without a full stop.
    public var description: String {
        switch self {
        case .notConnected(let reason): "there is no connection: \(reason)"
        case .disconnected(let reason): "the connection ended before the answer: \(reason)"
        case .unprocessed: "the server takes no further requests on this connection"
        case .reset(let errorCode): "the server gave the request up with HTTP/2 error \(errorCode)"
        case .timedOut: "there was no answer in time"
        case .responseTooLarge(let limit): "the answer has more than \(limit) bytes"
        case .overloaded: "too many requests wait for their answers"
        }
    }
}
