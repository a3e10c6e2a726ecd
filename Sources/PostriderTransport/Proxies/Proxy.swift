public import PostriderProxies

/// A proxy through which a client connects to a server. The client uses TLS with the server, through the proxy.
public struct Proxy: Sendable, Hashable, CustomStringConvertible {
    /// The protocol of the proxy.
    public let proxyProtocol: ProxyProtocol
    /// The address of the proxy.
    public let destination: Destination
    /// The user and the password for the proxy; nil if it asks for none.
    public let credentials: ProxyCredentials?

    /// Creates a proxy from its parts.
    public init(
        _ proxyProtocol: ProxyProtocol, at destination: Destination, as credentials: ProxyCredentials?
    ) {
        self.proxyProtocol = proxyProtocol
        self.destination = destination
        self.credentials = credentials
    }

    /// `http://proxy.example.org:3128`; never the user nor the password.
    public var description: String { "\(proxyProtocol.rawValue)://\(destination)" }
}

extension TunnelTarget {
    /// Converts a destination into the form that proxies understand; nil for a Unix socket.
    init?(_ destination: Destination) {
        switch destination {
        case .host(let name, let port): self.init(name: name, port: port)
        case .address(let address):
            guard let text = address.host, let port = address.port, let bytes = address.networkBytes else {
                return nil
            }
            self.init(address: bytes, text: text, port: port)
        }
    }
}

extension SocketAddress {
    /// The bytes of the address as they are sent over the network; nil for a Unix socket.
    fileprivate var networkBytes: [UInt8]? {
        switch kind {
        case .ipv4(let word, _): unsafe withUnsafeBytes(of: word) { unsafe Array($0) }
        case .ipv6(let first, let second, _, _):
            unsafe withUnsafeBytes(of: (first, second)) { unsafe Array($0) }
        case .unix: nil
        }
    }
}
