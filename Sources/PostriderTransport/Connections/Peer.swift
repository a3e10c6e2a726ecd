/// The other end of a connection: what is known of it once the connection is established.
public struct Peer: Sendable {
    /// The process at the other end of a Unix socket, as the kernel vouches for it (SO_PEERCRED).
    public struct Credentials: Sendable, Equatable {
        /// The effective user and group when it connected (or began to listen), and its process.
        public let user: UInt32, group: UInt32, process: Int32

        /// What the kernel said, or what a simulator says in its place.
        public init(user: UInt32, group: UInt32, process: Int32) {
            self.user = user
            self.group = group
            self.process = process
        }
    }

    /// Where it is, as text: `127.0.0.1:4711`, or `unix:` and the path.
    public let address: String
    /// By what its connections are counted; nil for a Unix socket.
    public let source: ConnectionLimiter.Source?
    /// Known for Unix sockets only.
    public let credentials: Credentials?
    /// What ALPN agreed on; nil without TLS or without ALPN.
    public internal(set) var negotiatedProtocol: String?
    /// The certificate that the peer showed, verified or not: its own field says.
    public internal(set) var certificate: PeerCertificate?

    /// A peer from its parts, as a simulator's wire has one.
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
