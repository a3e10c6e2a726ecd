public import PostriderTLS
public import PostriderTransport

/// The far end that a client talks to: where it is, and how it proves who it is.
public struct Server: Sendable {
    /// Where it listens.
    public let destination: Destination
    /// How to speak TLS with it; nil: plain, for Unix sockets.
    public let tls: TLSContext?
    /// The name that its certificate must carry.
    public let name: String

    /// A server behind TLS.
    /// - Parameters:
    ///   - tls: made with ALPN `h2`.
    ///   - name: the name that its certificate must carry; nil: the host of the destination.
    public init(_ destination: Destination, tls: TLSContext, name: String? = nil) {
        self.destination = destination
        self.tls = tls
        self.name = name ?? destination.host ?? "localhost"
    }

    /// A server on a Unix socket, whose file says who it is.
    public init(socket address: SocketAddress) {
        precondition(address.unixPath != nil, "what crosses a network crosses it in TLS")
        destination = .address(address)
        tls = nil
        name = "localhost"
    }

    /// `:scheme` of requests to it.
    var scheme: StaticString { tls == nil ? "http" : "https" }

    /// `:authority` of requests to it (RFC 9113, 8.3.1).
    var authority: String {
        let host = name.contains(":") ? "[\(name)]" : name
        return switch destination {
        case .address(let address): address.port.map { "\(host):\($0)" } ?? host
        case .host(_, let port): "\(host):\(port)"
        }
    }

    /// Begins a connection to it. Whatever comes of it, the session hears of it.
    func dial(from loop: EventLoop, timeoutMilliseconds: Int, session: any ConnectionHandler) -> Dialing {
        loop.dial(
            destination, tls: tls.map { ($0, name) }, timeoutMilliseconds: timeoutMilliseconds,
            session: session)
    }
}
