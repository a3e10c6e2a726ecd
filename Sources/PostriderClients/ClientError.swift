public import PostriderTransport

/// Why a request has no response. A response with an error status is not an error of this type.
public enum ClientError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The connection could not be established, and nothing was sent.
    case notConnected(CloseReason)
    /// The connection ended. It is unknown whether the server has processed the request.
    case disconnected(CloseReason)
    /// The server accepts no further requests on this connection and did not process this one, so it can be repeated
    /// on another connection.
    case unprocessed
    /// The server reset the request's stream with this error code (RFC 9113, section 7).
    case reset(errorCode: UInt32)
    /// There was no response in time.
    case timedOut
    /// The response has more bytes than this client accepts.
    case responseTooLarge(limit: Int)
    /// The client has as many requests as it may have.
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
