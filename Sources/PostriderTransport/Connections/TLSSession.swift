/// TLS on one connected socket, as a ``Connection`` uses it. `PostriderTLS` has it; this module knows no TLS library,
/// so that an app whose only socket is a Unix socket links none.
///
/// It is used by one thread at a time, and may move with its connection. The socket stays the connection's.
public protocol TLSSession: AnyObject {
    /// Bytes of room that a read needs: a record of full length.
    var leastRoom: Int { get }

    /// What all sessions of one thread share. An event loop makes one when it needs it first, and keeps it.
    func makeWorkspace() -> any TLSWorkspace

    /// Does what can be done of the handshake without waiting.
    ///
    /// - Throws: the sentence for the log; the peer was sent the alert, if the socket took it.
    func handshake(using workspace: any TLSWorkspace) throws(TLSFailure) -> TLSStep

    /// What the handshake agreed on. To be called once, when it is complete; what only a handshake needs is then freed.
    func finishHandshake(using workspace: any TLSWorkspace) -> TLSAgreement

    /// Reads into the start of `buffer`, which has ``leastRoom``. To be called until it wants something, or again while
    /// ``hasBufferedInput``: TLS may hold what the socket no longer shows.
    func read(
        into buffer: inout MutableSpan<UInt8>, using workspace: any TLSWorkspace
    ) throws(TLSFailure) -> TLSTransfer

    /// Writes the start of `bytes`. After ``TLSTransfer/wantsRead`` or ``TLSTransfer/wantsWrite`` the next write begins
    /// with the same bytes: a part of them is encrypted already.
    func write(_ bytes: Span<UInt8>, using workspace: any TLSWorkspace) throws(TLSFailure) -> TLSTransfer

    /// Whether a read would return something although the socket may have nothing to read.
    var hasBufferedInput: Bool { get }

    /// Sends close_notify, if the socket takes it now. Waits for nothing.
    func shutdown(using workspace: any TLSWorkspace)

    /// This thread does not use the session any more: it ends, or goes to another thread.
    func release(using workspace: any TLSWorkspace)
}

/// What all TLS sessions of one thread share.
public protocol TLSWorkspace: AnyObject {
    /// Called at the end of each turn of the loop: overwrites the keys of sessions that were released in it.
    func turnEnded()
}

/// Makes the TLS sessions of a listener, or of a client.
public protocol TLSProvider: Sendable {
    /// A server's session on an accepted socket, before its handshake.
    func accept(_ descriptor: Int32) throws(TLSFailure) -> any TLSSession

    /// A client's session on a socket that is connected, or being connected.
    ///
    /// - Parameter serverName: what the server's certificate must carry: a host name or the text of an IP address.
    func connect(_ descriptor: Int32, serverName: String) throws(TLSFailure) -> any TLSSession
}

/// How far a handshake went.
public enum TLSStep: Sendable {
    /// Done: bytes can be read and written.
    case complete
    /// To be continued when the socket has something to read.
    case wantsRead
    /// To be continued when the socket takes bytes again.
    case wantsWrite
}

/// How far a read or a write went.
public enum TLSTransfer: Equatable, Sendable {
    /// So many bytes were read or written; of a write at most a record's content (16 KiB).
    case bytes(Int)
    /// To be repeated when the socket has something to read.
    case wantsRead
    /// To be repeated when the socket takes bytes again; of a write, with the same bytes first.
    case wantsWrite
    /// The peer will send nothing more: it said so, or closed the connection without a word, which HTTP/2
    /// tells apart by its own frames.
    case endOfStream
}

/// What a handshake agreed on.
public struct TLSAgreement: Equatable, Sendable {
    /// The protocol that ALPN settled on; nil if the client offered none.
    public let negotiatedProtocol: String?
    /// The certificate that the peer showed, verified or not; nil if it showed none.
    public let certificate: PeerCertificate?

    /// An agreement from its parts.
    public init(negotiatedProtocol: String?, certificate: PeerCertificate?) {
        self.negotiatedProtocol = negotiatedProtocol
        self.certificate = certificate
    }
}

/// The certificate that a peer showed in its handshake.
public struct PeerCertificate: Equatable, Sendable {
    /// The whole certificate, DER.
    public let der: [UInt8]
    /// Whether it leads to a certificate of the trust file, is in its time and is meant for this use. When
    /// false, nothing in it may be believed.
    public let isVerified: Bool

    /// A certificate from its parts.
    public init(der: [UInt8], isVerified: Bool) {
        self.der = der
        self.isVerified = isVerified
    }
}

/// Why TLS cannot go on: one sentence that says what and why. It never carries key material.
public struct TLSFailure: Error, Equatable, Sendable, CustomStringConvertible {
    /// Whose fault it is.
    public enum Origin: Sendable {
        /// This side's: an argument that cannot be used, or no memory.
        case local
        /// The peer sent something that TLS or our policy forbids, or refused what we sent.
        case peer
        /// The connection underneath broke: reset, or ended in the middle of a handshake.
        case connection
    }

    /// Whose fault it is.
    public let origin: Origin
    /// The sentence.
    public let description: String
    /// The standard name of the alert if there was one (RFC 8446, section 6), otherwise the library's reason.
    public let name: String?
    /// Whether the peer's first bytes were no record of TLS.
    public let isNotTLS: Bool

    /// A failure from its parts.
    public init(_ origin: Origin, _ description: String, name: String?, isNotTLS: Bool) {
        self.origin = origin
        self.description = description
        self.name = name
        self.isNotTLS = isNotTLS
    }
}
