import CPostriderNghttp2

/// Why a connection ended, or why a request cannot be made.
public enum SessionError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The peer does not begin with the HTTP/2 connection preface (RFC 9113, section 3.4).
    case notHTTP2
    /// A header block has more fields than allowed.
    case tooManyHeaderFields
    /// A header block is larger than allowed.
    case headerListTooLarge
    /// The peer sends far more frames that are only work for us than frames with content.
    case flooded
    /// Most of the peer's streams are cut short, by its own RST_STREAM or by ours (rapid reset).
    case tooManyResets
    /// A connection error (RFC 9113, section 5.4.1); `reason` is nghttp2's sentence, or ours.
    case protocolViolation(errorCode: UInt32, reason: String)
    /// The connection is ending or its stream identifiers are used up: make the request on a new connection.
    case requestsRefused
    /// nghttp2 failed (its error number): out of memory, or a bug.
    case libraryFailure(Int32)

    /// One sentence without its full stop.
    public var description: String {
        switch self {
        case .notHTTP2: "the peer does not speak HTTP/2"
        case .tooManyHeaderFields: "a header block has too many fields"
        case .headerListTooLarge: "a header block is too large"
        case .flooded: "the peer floods the connection with frames without content"
        case .tooManyResets: "most requests are reset as soon as they are made (rapid reset)"
        case .protocolViolation(let errorCode, let reason):
            "HTTP/2 connection error \(ErrorCode.name(errorCode)): \(reason)"
        case .requestsRefused: "no further request can be made on this connection"
        case .libraryFailure(let number): "the HTTP/2 library failed with error \(number)"
        }
    }
}

extension SessionError {
    /// The error code of the GOAWAY (RFC 9113, section 7).
    var code: UInt32 {
        switch self {
        case .notHTTP2: ErrorCode.protocolError
        case .tooManyHeaderFields, .headerListTooLarge, .flooded, .tooManyResets: ErrorCode.enhanceYourCalm
        case .protocolViolation(let errorCode, _): errorCode
        case .requestsRefused: ErrorCode.refusedStream
        case .libraryFailure: ErrorCode.internalError
        }
    }

    /// The name of ``code``, as people search for it.
    public var name: String { ErrorCode.name(code) }

    /// The debug data of the GOAWAY.
    var reason: String {
        if case .protocolViolation(_, let reason) = self { reason } else { description }
    }

    /// The error for an error number of nghttp2.
    init(library number: Int32) {
        self =
            switch number {
            case NGHTTP2_ERR_BAD_CLIENT_MAGIC.rawValue: .notHTTP2
            case NGHTTP2_ERR_FLOODED.rawValue, NGHTTP2_ERR_TOO_MANY_CONTINUATIONS.rawValue: .flooded
            default: .libraryFailure(number)
            }
    }
}

/// The error codes of RFC 9113, section 7.
public enum ErrorCode {
    private static let names = [
        "NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT",
        "STREAM_CLOSED", "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR",
        "CONNECT_ERROR", "ENHANCE_YOUR_CALM", "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
    ]

    /// The name of an error code, such as `ENHANCE_YOUR_CALM`; a code that the RFC does not define is named by its
    /// number.
    public static func name(_ code: UInt32) -> String {
        code < names.count ? names[Int(code)] : "an unknown error code"
    }

    /// Not an error.
    public static let noError: UInt32 = 0
    /// The peer broke the protocol.
    public static let protocolError: UInt32 = 1
    /// Our own fault.
    public static let internalError: UInt32 = 2
    /// More was sent than there was a window for.
    public static let flowControlError: UInt32 = 3
    /// The acknowledgement of SETTINGS did not come in time.
    public static let settingsTimeout: UInt32 = 4
    /// The stream is closed already.
    public static let streamClosed: UInt32 = 5
    /// A frame has a size that it cannot have.
    public static let frameSizeError: UInt32 = 6
    /// The stream was not processed: the request may be repeated.
    public static let refusedStream: UInt32 = 7
    /// The stream is no longer wanted.
    public static let cancel: UInt32 = 8
    /// The peer does too much of something.
    public static let enhanceYourCalm: UInt32 = 11
}
