public import PostriderHTTP2
public import PostriderTransport

/// One HTTP/2 connection that makes requests: over TLS for a provider, over a Unix socket for the operator.
///
/// It belongs to the thread of its loop. When its connection has ended, make another one. Dropping it closes
/// the connection; each completion is called exactly once, come what may.
public final class RequestClient {
    /// What a server answered.
    public struct Response: Sendable {
        /// `:status`.
        public let status: Int
        /// The fields before the body.
        public let head: HeaderBlock
        /// The body.
        public let body: [UInt8]
        /// The fields after the body, if there were any.
        public let trailers: HeaderBlock?
    }

    /// What a client waits for and holds at most.
    public struct Bounds: Sendable {
        /// For the connection to each address of the server. Milliseconds.
        public var connectMilliseconds = 10_000
        /// Requests that the server works on at once; fewer if the server says so.
        public var requestsUnderWay = 1000
        /// Requests that wait for their turn.
        public var requestsWaiting = 100_000
        /// Bytes of a response's body.
        public var responseBytes = 1_048_576

        /// The usual bounds.
        public init() {}
    }

    /// What becomes of a request.
    public typealias Completion = (Result<Response, ClientError>) -> Void

    private let line: RequestLine

    /// Called once, when the connection is gone and every completion has been called; not after the client
    /// was dropped.
    public var onClose: ((CloseReason) -> Void)? {
        get { line.onClose }
        set { line.onClose = newValue }
    }

    /// Begins to connect. Requests may be made at once; they leave when the connection is there.
    public init(to server: Server, on loop: EventLoop, bounds: Bounds = Bounds()) {
        line = RequestLine(server, loop, bounds)
        line.connect()
    }

    deinit {
        line.onClose = nil
        line.close()
    }

    /// Whether requests can be made: the connection is there or on its way, and neither side has begun to end
    /// it.
    public var takesRequests: Bool { line.takesRequests }

    /// Requests whose completions are still to be called.
    public var openRequests: Int { line.openRequests }

    /// The head of a request to this server, to which other fields may be added.
    public func makeHead(_ method: String, _ path: String) -> HeaderBlock { line.makeHead(method, path) }

    /// Makes a request. It waits here while the server works on as many as it takes at once.
    /// - Parameters:
    ///   - head: begun by ``makeHead(_:_:)``.
    ///   - body: empty for none.
    ///   - timeoutMilliseconds: from now to the end of the answer.
    ///   - completion: called on the loop, after this call has returned.
    /// - Throws: when the request cannot even begin: the connection has ended or is ending, or too many wait.
    ///   `completion` is not called then.
    public func send(
        _ head: HeaderBlock, body: [UInt8] = [], timeoutMilliseconds: Int = 10_000,
        completion: @escaping Completion
    ) throws(ClientError) {
        try line.send(head, body, timeoutMilliseconds, completion)
    }

    /// Closes the connection in order. Requests under way fail.
    public func close() { line.close() }
}
