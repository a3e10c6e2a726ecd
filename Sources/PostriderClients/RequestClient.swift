public import PostriderHTTP2
public import PostriderTransport

/// An HTTP/2 client with one connection: with TLS for a provider, over a Unix socket for the operator.
///
/// It belongs to the thread of its loop. When its connection has ended, create another client. Releasing it closes
/// the connection. Each completion is called exactly once in every case.
public final class RequestClient {
    /// The response of a server.
    public struct Response: Sendable {
        /// The HTTP status: `:status`.
        public let status: Int
        /// The header fields.
        public let head: HeaderBlock
        /// The body.
        public let body: [UInt8]
        /// The trailer fields; nil if there are none.
        public let trailers: HeaderBlock?
    }

    /// The limits of a client.
    public struct Bounds: Sendable {
        /// The limit for the TCP connection to each address of the server, in milliseconds.
        public var connectMilliseconds = 10_000
        /// The most concurrent requests; fewer if the server says so.
        public var requestsUnderWay = 1000
        /// The most requests that are queued.
        public var requestsWaiting = 100_000
        /// The most bytes of a response's body.
        public var responseBytes = 1_048_576

        /// Creates the default limits.
        public init() {}
    }

    /// Called with the outcome of a request.
    public typealias Completion = (Result<Response, ClientError>) -> Void

    private let line: RequestLine

    /// Called once, when the connection has ended and every completion was called. It is not called after the client
    /// was released.
    public var onClose: ((CloseReason) -> Void)? {
        get { line.onClose }
        set { line.onClose = newValue }
    }

    /// Starts to connect. Requests may be made at once; they are sent when the connection is established.
    public init(to server: Server, on loop: EventLoop, bounds: Bounds = Bounds()) {
        line = RequestLine(server, loop, bounds)
        line.connect()
    }

    deinit {
        line.onClose = nil
        line.close()
    }

    /// Whether requests can be made: the connection is established or being established, and neither side has begun
    /// to end it.
    public var takesRequests: Bool { line.takesRequests }

    /// The number of requests whose completions are still to be called.
    public var openRequests: Int { line.openRequests }

    /// Makes the header block of a request to this server, to which fields can be added.
    public func makeHead(_ method: String, _ path: String) -> HeaderBlock { line.makeHead(method, path) }

    /// Makes a request. It is queued while the server has as many requests as it accepts concurrently.
    /// - Parameters:
    ///   - head: the header block from ``makeHead(_:_:)``.
    ///   - body: the body; empty for none.
    ///   - timeoutMilliseconds: the limit from now to the end of the response.
    ///   - completion: called on the loop, after this call has returned.
    /// - Throws: if the request cannot be started: the connection has ended or is ending, or too many requests are
    ///   queued. `completion` is not called then.
    public func send(
        _ head: HeaderBlock, body: [UInt8] = [], timeoutMilliseconds: Int = 10_000,
        completion: @escaping Completion
    ) throws(ClientError) {
        try line.send(head, body, timeoutMilliseconds, completion)
    }

    /// Closes the connection in order. Requests under way fail.
    public func close() { line.close() }
}
