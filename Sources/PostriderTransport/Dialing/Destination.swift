/// Where to connect to: an address, or a host name, which is resolved for each connection.
public enum Destination: Sendable, Hashable, CustomStringConvertible {
    /// An address.
    case address(SocketAddress)
    /// A host name and a port.
    case host(String, port: UInt16)

    /// Reads `relay.example.org:2197`, `127.0.0.1:2197`, `[::1]:2197` or `unix:/run/postrider.sock`.
    public init(_ text: String) throws(TransportError) {
        if let address = try? SocketAddress(text) {
            guard address.port != 0 else { throw Self.portZero(text) }
            self = .address(address)
            return
        }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        // Only a literal address names an interface with `%`.
        if text.contains("%") { _ = try SocketAddress(text) }
        guard parts.count == 2, let port = UInt16(parts[1]), Self.isName(parts[0]) else {
            throw TransportError(
                "\(text) is no destination: give relay.example.org:2197, 127.0.0.1:2197, "
                    + "[::1]:2197 or unix:/path."
            )
        }
        guard port != 0 else { throw Self.portZero(text) }
        self = .host(String(parts[0]), port: port)
    }

    private static func portZero(_ text: String) -> TransportError {
        TransportError("\(text) has port 0, at which nobody listens: give a port from 1 to 65535.")
    }

    /// The destination in the form that `init` reads.
    public var description: String {
        switch self {
        case .address(let address): address.description
        case .host(let name, let port): "\(name):\(port)"
        }
    }

    /// The name for which the certificate of a server there must be valid: the host name, or the address without port
    /// and brackets; nil for a Unix socket.
    public var host: String? {
        switch self {
        case .address(let address): address.host
        case .host(let name, _): name
        }
    }

    /// Whether the text is a host name (RFC 1123, section 2.1). Underscores are accepted because resolvers accept
    /// them.
    private static func isName(_ text: Substring) -> Bool {
        !text.isEmpty && text.utf8.count <= 253
            && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-._".contains($0)) }
    }
}
