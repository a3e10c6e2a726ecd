/// The messages between a client and a proxy until the proxy has connected the client to its target: HTTP's CONNECT
/// (RFC 9110, section 9.3.6) or SOCKS 5 (RFC 1928). Pure: it does no I/O and reads no clock.
///
///     start() ──bytes──▶ proxy ──bytes──▶ receive(_:) ──▶ send more | wait | established
///
/// All later bytes come from the target. The client sends first there (TLS), so a proxy that sends more than its answer
/// breaks the protocol.
public struct TunnelHandshake {
    /// The next action of the client.
    public enum Step: Equatable, Sendable {
        /// Wait for more bytes of the proxy's answer.
        case wait
        /// Send these bytes to the proxy.
        case send([UInt8])
        /// The proxy has connected the client to the target.
        case established
    }

    private enum Exchange {
        case connect(ConnectExchange)
        case socks5(SOCKS5Exchange)
    }

    private var exchange: Exchange

    /// Creates a handshake that has not started.
    public init(
        with proxyProtocol: ProxyProtocol, to target: TunnelTarget, as credentials: ProxyCredentials? = nil
    ) {
        exchange =
            switch proxyProtocol {
            case .http: .connect(ConnectExchange(to: target, as: credentials))
            case .socks5: .socks5(SOCKS5Exchange(to: target, as: credentials))
            }
    }

    /// The first bytes that are sent to the proxy.
    public func start() -> [UInt8] {
        switch exchange {
        case .connect(let exchange): exchange.request
        case .socks5(let exchange): exchange.greeting
        }
    }

    /// Takes bytes from the proxy, in pieces of any size. It must not be called again after it has thrown an error or
    /// returned ``Step/established``.
    public mutating func receive(_ bytes: Span<UInt8>) throws(TunnelFailure) -> Step {
        switch exchange {
        case .connect(var exchange):
            defer { self.exchange = .connect(exchange) }
            return try exchange.receive(bytes)
        case .socks5(var exchange):
            defer { self.exchange = .socks5(exchange) }
            return try exchange.receive(bytes)
        }
    }

    /// The failure if the proxy has closed the connection before it connected the client.
    public var failureAtEnd: TunnelFailure {
        switch exchange {
        case .connect(let exchange): exchange.failureAtEnd
        case .socks5: .closed
        }
    }
}

/// The protocol of a proxy.
public enum ProxyProtocol: String, CaseIterable, Sendable {
    /// HTTP/1.1 with the method CONNECT.
    case http
    /// SOCKS 5.
    case socks5
}

/// A user and a password for a proxy.
public struct ProxyCredentials: Sendable, Hashable, CustomStringConvertible {
    /// 1 to 255 bytes (RFC 1929, section 2), no control characters and no colon (RFC 7617, section 2).
    public let user: String
    /// 1 to 255 bytes without control characters.
    public let password: String

    /// Creates credentials; nil if one of the protocols cannot carry them.
    public init?(user: String, password: String) {
        guard Self.canBeSent(user), !user.contains(":"), Self.canBeSent(password) else { return nil }
        self.user = user
        self.password = password
    }

    private static func canBeSent(_ text: String) -> Bool {
        (1...255).contains(text.utf8.count) && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }

    /// The user; never the password.
    public var description: String { user }
}

/// The target of a tunnel: a port of a host, whose name the proxy looks up, or of an address.
public struct TunnelTarget: Sendable, Hashable, CustomStringConvertible {
    enum Host: Hashable {
        case name(String)
        /// 4 bytes of an IPv4 address, or 16 of an IPv6 address, with the text of the same.
        case address([UInt8], String)
    }

    let host: Host
    let port: UInt16

    /// Creates a target from a host name of DNS: 1 to 253 bytes of ASCII.
    public init(name: String, port: UInt16) {
        precondition((1...253).contains(name.utf8.count), "bug: a host's name has \(name.utf8.count) bytes")
        host = .name(name)
        self.port = port
    }

    /// Creates a target from an address.
    /// - Parameters:
    ///   - bytes: the address in network byte order, 4 or 16 bytes.
    ///   - text: the text form of the address, without brackets.
    public init(address bytes: [UInt8], text: String, port: UInt16) {
        precondition(bytes.count == 4 || bytes.count == 16, "bug: an address has \(bytes.count) bytes")
        host = .address(bytes, text)
        self.port = port
    }

    /// The form that CONNECT uses (RFC 9110, section 9.3.6): `relay.example.org:5223`, `192.0.2.1:5223`,
    /// `[2001:db8::1]:5223`.
    public var description: String {
        switch host {
        case .name(let name): "\(name):\(port)"
        case .address(let bytes, let text): bytes.count == 16 ? "[\(text)]:\(port)" : "\(text):\(port)"
        }
    }
}
