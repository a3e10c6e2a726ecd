/// A request.
public struct HTTP1Request: Sendable {
    /// The method, such as `GET`.
    public let method: String
    /// The path, without a query.
    public let path: String
    /// The query without the question mark, with escapes (RFC 3986, section 2.1); empty if there is none.
    public let query: String
    /// The header fields in the order in which they were received.
    public let fields: [(name: String, value: String)]
    /// The body; empty if there is none.
    public let body: [UInt8]

    /// Creates a request from its parts.
    public init(
        method: String, path: String, query: String = "", fields: [(name: String, value: String)] = [],
        body: [UInt8] = []
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.fields = fields
        self.body = body
    }

    /// The value of the first field with this name, whatever its case is; nil if there is none.
    public func field(_ name: String) -> String? {
        fields.first { $0.name.lowercased() == name.lowercased() }?.value
    }
}

/// A response.
public struct HTTP1Response: Sendable {
    /// The status code.
    public let status: Int
    /// The media type of the body.
    public let contentType: String
    /// The body. It is not sent in response to `HEAD`.
    public let body: String
    /// Further header fields.
    public let fields: [(name: String, value: String)]
    /// The rest of the body, which is sent as it is produced; nil if ``body`` is the whole body.
    public let stream: (any HTTP1Stream)?

    /// Creates a response from its parts.
    public init(
        status: Int, contentType: String = "text/plain; charset=utf-8", body: String,
        fields: [(name: String, value: String)] = [], stream: (any HTTP1Stream)? = nil
    ) {
        self.status = status
        self.contentType = contentType
        self.body = body
        self.fields = fields
        self.stream = stream
    }
}

/// A body that is produced while it is sent. Only the thread of one connection uses it.
public protocol HTTP1Stream: AnyObject, Sendable {
    /// Waits for the next bytes, at least one, and returns nil at the end. It must not wait for long, because the
    /// server notices that a client has left only when it sends bytes.
    func next() -> [UInt8]?
}

/// The limits of a server.
public struct HTTP1Bounds: Sendable {
    /// The most open connections.
    public let connections: Int
    /// The most open connections of one address; nil for no limit.
    public let connectionsPerAddress: Int?
    /// Seconds without progress after which a connection is closed.
    public let timeoutSeconds: Int
    /// The bytes of memory for the head of one request.
    public let connectionBytes: Int
    /// The most bytes of a request's body; 0 for a server that answers only `GET` and `HEAD`, without bodies.
    public let bodyBytes: Int
    /// Whether each connection has a thread of its own, so that a response may wait for something without delaying
    /// others.
    public let hasThreadPerConnection: Bool

    /// Creates limits from their parts.
    public init(
        connections: Int, connectionsPerAddress: Int?, timeoutSeconds: Int, connectionBytes: Int,
        bodyBytes: Int = 0, hasThreadPerConnection: Bool = false
    ) {
        precondition(connections > 0 && timeoutSeconds > 0 && connectionBytes > 0 && bodyBytes >= 0)
        self.connections = connections
        self.connectionsPerAddress = connectionsPerAddress
        self.timeoutSeconds = timeoutSeconds
        self.connectionBytes = connectionBytes
        self.bodyBytes = bodyBytes
        self.hasThreadPerConnection = hasThreadPerConnection
    }
}

/// The certificate of a server and its key.
public struct HTTP1Certificate: Sendable {
    /// The certificate and its intermediate certificates, in PEM.
    public let chain: String
    /// The private key, in PEM.
    public let key: String

    /// Creates the pair from its parts.
    public init(chain: String, key: String) {
        self.chain = chain
        self.key = key
    }
}

/// Why a server could not be started: one sentence for the operator.
public struct HTTP1Error: Error, CustomStringConvertible {
    /// One sentence: what was wrong, and what to do.
    public let description: String
}
