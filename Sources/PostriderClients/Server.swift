import PostriderSystem
public import PostriderTLS
public import PostriderTransport

/// The address of a server, and how it is authenticated.
public struct Server: Sendable {
    /// The address of the server.
    public let destination: Destination
    /// The TLS configuration; nil for a Unix socket without TLS.
    public let tls: TLSContext?
    /// The name for which its certificate must be valid.
    public let name: String
    /// The proxy through which clients connect; nil for a direct connection.
    public let proxy: Proxy?

    /// Creates a server with TLS.
    /// - Parameters:
    ///   - tls: a context with ALPN `h2`.
    ///   - name: the name for which its certificate must be valid; nil for the host of the destination.
    ///   - proxy: the proxy through which clients connect; nil for a direct connection.
    public init(_ destination: Destination, tls: TLSContext, name: String? = nil, through proxy: Proxy? = nil)
    {
        self.destination = destination
        self.tls = tls
        self.proxy = proxy
        self.name = name ?? destination.host ?? "localhost"
    }

    /// Creates a server on a Unix socket, which is authenticated by the access rights of its file.
    public init(socket address: SocketAddress) {
        precondition(address.unixPath != nil, "what crosses a network crosses it in TLS")
        destination = .address(address)
        tls = nil
        proxy = nil
        name = "localhost"
    }

    /// The `:scheme` of requests.
    var scheme: StaticString { tls == nil ? "http" : "https" }

    /// The `:authority` of requests (RFC 9113, section 8.3.1).
    var authority: String {
        let host = name.contains(":") ? "[\(name)]" : name
        return switch destination {
        case .address(let address): address.port.map { "\(host):\($0)" } ?? host
        case .host(_, let port): "\(host):\(port)"
        }
    }

    /// Starts to connect. The session gets the outcome in any case.
    func dial(from loop: EventLoop, timeoutMilliseconds: Int, session: any ConnectionHandler) -> Dialing {
        loop.dial(
            destination, resolver: SystemResolver(), tls: tls.map { ($0, name) }, through: proxy,
            timeoutMilliseconds: timeoutMilliseconds, session: session)
    }

    /// The destination and the proxy for logs: `relay.example.org:5223`, or `… through the proxy
    /// http://proxy.example.org:3128`.
    public var place: String {
        proxy.map { "\(destination) through the proxy \($0)" } ?? "\(destination)"
    }
}
