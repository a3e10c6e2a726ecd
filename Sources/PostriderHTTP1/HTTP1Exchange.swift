/// A request without a body.
public struct HTTP1Request: Sendable {
    /// The method: `GET` or `HEAD`.
    public let method: String
    /// The path, without a query.
    public let path: String
    /// The value of `Authorization`; nil if the header is missing.
    public let authorization: String?

    /// Creates a request from its parts.
    public init(method: String, path: String, authorization: String?) {
        self.method = method
        self.path = path
        self.authorization = authorization
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

    /// Creates a response from its parts.
    public init(
        status: Int, contentType: String = "text/plain; charset=utf-8", body: String,
        fields: [(name: String, value: String)] = []
    ) {
        self.status = status
        self.contentType = contentType
        self.body = body
        self.fields = fields
    }
}

/// The limits of a server.
public struct HTTP1Bounds: Sendable {
    /// The most open connections.
    public let connections: Int
    /// The most open connections of one address; nil for no limit.
    public let connectionsPerAddress: Int?
    /// Seconds without progress after which a connection is closed.
    public let timeoutSeconds: Int
    /// The bytes of memory for the request of one connection.
    public let connectionBytes: Int

    /// Creates limits from their parts.
    public init(
        connections: Int, connectionsPerAddress: Int?, timeoutSeconds: Int, connectionBytes: Int
    ) {
        precondition(connections > 0 && timeoutSeconds > 0 && connectionBytes > 0)
        self.connections = connections
        self.connectionsPerAddress = connectionsPerAddress
        self.timeoutSeconds = timeoutSeconds
        self.connectionBytes = connectionBytes
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
