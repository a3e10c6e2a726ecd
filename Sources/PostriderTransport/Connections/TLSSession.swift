/// TLS on one connected socket, as a ``Connection`` uses it. `PostriderTLS` implements it. This module knows no TLS
/// library, so that an app whose only socket is a Unix socket links none.
///
/// A session is used by one thread at a time and may move with its connection. The connection still owns the socket.
public protocol TLSSession: AnyObject {
    /// The least size of a read buffer in bytes: a record of full length.
    var leastRoom: Int { get }

    /// Makes the state that all sessions of one thread share. An event loop makes it when it first needs one, and
    /// keeps it.
    func makeWorkspace() -> any TLSWorkspace

    /// Continues the handshake as far as possible without blocking.
    ///
    /// - Throws: the sentence for the log. The peer was sent the alert if the socket took it.
    func handshake(using workspace: any TLSWorkspace) throws(TLSFailure) -> TLSStep

    /// What the complete handshake has negotiated. It must be read before ``finishHandshake(using:)`` is called.
    var details: TLSDetails { get }

    /// Returns what the handshake agreed on, and frees what only a handshake needs. Call it once, when the handshake
    /// is complete.
    func finishHandshake(using workspace: any TLSWorkspace) -> TLSAgreement

    /// Reads into the start of `buffer`, which must have ``leastRoom`` bytes. Call it until it returns
    /// ``TLSTransfer/wantsRead`` or ``TLSTransfer/wantsWrite``, or call it again while ``hasBufferedInput`` is true:
    /// TLS may hold bytes that the socket no longer reports.
    func read(
        into buffer: inout MutableSpan<UInt8>, using workspace: any TLSWorkspace
    ) throws(TLSFailure) -> TLSTransfer

    /// Writes the start of `bytes`. After ``TLSTransfer/wantsRead`` or ``TLSTransfer/wantsWrite`` the next write must
    /// begin with the same bytes, because some of them are encrypted already.
    func write(_ bytes: Span<UInt8>, using workspace: any TLSWorkspace) throws(TLSFailure) -> TLSTransfer

    /// Whether a read would return bytes even though the socket may have nothing to read.
    var hasBufferedInput: Bool { get }

    /// Sends close_notify if the socket takes it now. It does not block.
    func shutdown(using workspace: any TLSWorkspace)

    /// Tells the session that this thread does not use it any more, because it ends or moves to another thread.
    func release(using workspace: any TLSWorkspace)
}

/// The state that all TLS sessions of one thread share.
public protocol TLSWorkspace: AnyObject {
    /// Overwrites the keys of sessions that were released in this turn. The loop calls it at the end of each turn.
    func turnEnded()
}

/// Makes the TLS sessions of a listener or of a client.
public protocol TLSProvider: Sendable {
    /// Makes a server's session on an accepted socket, before its handshake.
    func accept(_ descriptor: Int32) throws(TLSFailure) -> any TLSSession

    /// Makes a client's session on a socket that is connected or connecting.
    ///
    /// - Parameter serverName: the name for which the server's certificate must be valid: a host name or the text of
    ///   an IP address.
    func connect(_ descriptor: Int32, serverName: String) throws(TLSFailure) -> any TLSSession
}

/// The result of one step of a handshake.
public enum TLSStep: Sendable {
    /// The handshake is complete: bytes can be read and written.
    case complete
    /// The handshake must be continued when the socket is readable.
    case wantsRead
    /// The handshake must be continued when the socket is writable.
    case wantsWrite
}

/// The result of a read or a write.
public enum TLSTransfer: Equatable, Sendable {
    /// The number of bytes read or written. A write takes at most the content of one record (16 KiB).
    case bytes(Int)
    /// The call must be repeated when the socket is readable.
    case wantsRead
    /// The call must be repeated when the socket is writable; a write must begin with the same bytes.
    case wantsWrite
    /// The peer will send nothing more: it sent close_notify or closed the connection without it. HTTP/2 detects
    /// truncation by its own frames, so the two are not told apart.
    case endOfStream
}

/// What a handshake agreed on.
public struct TLSAgreement: Equatable, Sendable {
    /// The protocol that ALPN selected; nil if the client offered none.
    public let negotiatedProtocol: String?
    /// The certificate that the peer presented, verified or not; nil if it presented none.
    public let certificate: PeerCertificate?

    /// Creates an agreement from its parts.
    public init(negotiatedProtocol: String?, certificate: PeerCertificate?) {
        self.negotiatedProtocol = negotiatedProtocol
        self.certificate = certificate
    }
}

/// The parameters of a TLS connection, for people. A class, so that a connection without them stays small.
public final class TLSDetails: Sendable {
    /// The version: `TLSv1.3`.
    public let version: String
    /// The cipher suite, as OpenSSL names it: `TLS_AES_128_GCM_SHA256`.
    public let cipher: String
    /// The host name that the client asked for (Server Name Indication, RFC 6066, section 3); nil if it sent none.
    public let serverName: String?

    /// Creates details from their parts.
    public init(version: String, cipher: String, serverName: String?) {
        self.version = version
        self.cipher = cipher
        self.serverName = serverName
    }
}

/// The certificate that a peer presented in its handshake.
public struct PeerCertificate: Equatable, Sendable {
    /// The whole certificate in DER.
    public let der: [UInt8]
    /// Whether the certificate chains to one of the trust file, is valid now and is meant for this use. If false, no
    /// field of the certificate may be trusted.
    public let isVerified: Bool

    /// Creates a certificate from its parts.
    public init(der: [UInt8], isVerified: Bool) {
        self.der = der
        self.isVerified = isVerified
    }
}

/// Why TLS cannot go on: one sentence that says what failed and why. It never contains key material.
public struct TLSFailure: Error, Equatable, Sendable, CustomStringConvertible {
    /// The side that caused a failure.
    public enum Origin: Sendable {
        /// This side: an argument is unusable, or memory ran out.
        case local
        /// The peer: it sent something that TLS or our policy forbids, or rejected what we sent.
        case peer
        /// The connection: it was reset, or it ended in the middle of a handshake.
        case connection
    }

    /// The side that caused the failure.
    public let origin: Origin
    /// The sentence for logs.
    public let description: String
    /// The standard name of the alert if there was one (RFC 8446, section 6), otherwise the library's reason; nil if
    /// there is neither.
    public let name: String?
    /// Whether the peer's first bytes were not a TLS record.
    public let isNotTLS: Bool

    /// Creates a failure from its parts.
    public init(_ origin: Origin, _ description: String, name: String?, isNotTLS: Bool) {
        self.origin = origin
        self.description = description
        self.name = name
        self.isNotTLS = isNotTLS
    }
}
