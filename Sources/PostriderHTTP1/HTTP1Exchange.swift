/// What somebody asks for: a method without a body.
public struct HTTP1Request: Sendable {
    /// `GET` or `HEAD`.
    public let method: String
    /// The path, without a query.
    public let path: String
    /// The value of `Authorization`; nil if the header is missing.
    public let authorization: String?

    /// A request from its parts.
    public init(method: String, path: String, authorization: String?) {
        self.method = method
        self.path = path
        self.authorization = authorization
    }
}

/// What is answered.
public struct HTTP1Response: Sendable {
    /// The status code.
    public let status: Int
    /// The media type of the body.
    public let contentType: String
    /// The body. It is not sent to `HEAD`.
    public let body: String
    /// Further header fields.
    public let fields: [(name: String, value: String)]

    /// A response from its parts.
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

/// What a server may be held up with.
public struct HTTP1Bounds: Sendable {
    /// Connections that may be open.
    public let connections: Int
    /// Connections of one address that may be open; nil: as many as there can be.
    public let connectionsPerAddress: Int?
    /// Seconds without progress after which a connection is closed.
    public let timeoutSeconds: Int
    /// Bytes of memory for the request of one connection.
    public let connectionBytes: Int

    /// Bounds from their parts.
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
    /// The certificate and those above it, PEM.
    public let chain: String
    /// Its key, PEM.
    public let key: String

    /// A certificate with its key.
    public init(chain: String, key: String) {
        self.chain = chain
        self.key = key
    }
}

/// A server that could not be started: one sentence for the operator.
public struct HTTP1Error: Error, CustomStringConvertible {
    /// What was wrong, and what to do.
    public let description: String
}
