/// The other end of a connection, as far as it is known once the connection is established.
public struct Peer: Sendable {
    /// The process at the other end of a Unix socket, as reported by the kernel (SO_PEERCRED).
    public struct Credentials: Sendable, Equatable {
        /// The effective user and group of the process when it connected (or began to listen), and its process
        /// number.
        public let user: UInt32, group: UInt32, process: Int32

        /// Credentials from the kernel or from a simulator.
        public init(user: UInt32, group: UInt32, process: Int32) {
            self.user = user
            self.group = group
            self.process = process
        }
    }

    /// The address as text: `127.0.0.1:4711`, or `unix:` and the path.
    public let address: String
    /// The source by which its connections are counted; nil for a Unix socket.
    public let source: ConnectionLimiter.Source?
    /// The process at the other end; nil unless this is a Unix socket.
    public let credentials: Credentials?
    /// The protocol that ALPN selected; nil without TLS or without ALPN.
    public internal(set) var negotiatedProtocol: String?
    /// The certificate that the peer presented, verified or not; ``PeerCertificate/isVerified`` tells which.
    public internal(set) var certificate: PeerCertificate?
    /// The parameters of TLS; nil unless the listener records them (``Listener/recordsTLSDetails``).
    public internal(set) var tls: TLSDetails?

    /// Creates a peer from its parts, for a simulator.
    public init(
        address: String, source: ConnectionLimiter.Source? = nil, credentials: Credentials? = nil,
        negotiatedProtocol: String? = nil, certificate: PeerCertificate? = nil
    ) {
        self.address = address
        self.source = source
        self.credentials = credentials
        self.negotiatedProtocol = negotiatedProtocol
        self.certificate = certificate
    }
}
