internal import COpenSSL
internal import Glibc

/// TLS over one non-blocking, connected socket. It is used by one thread at a time, and may move with its
/// connection.
///
/// OpenSSL shakes hands. A server's stream of TLS 1.3 goes on without it once ``leaveHandshake()`` was called: its
/// records are then sealed and opened by a ``RecordLayer``, with OpenSSL's ciphers. Every other stays with OpenSSL.
///
/// The socket stays its owner's, who closes it after this object is gone or done. OpenSSL reads and writes it
/// with `read` and `write`, so the process ignores SIGPIPE.
@safe public final class TLSStream {
    /// Which side of the handshake we are.
    public enum Role: Sendable {
        /// The side that shows a certificate.
        case server
        /// The side that began. The server's certificate must carry `serverName`, a host name (also sent as
        /// SNI) or the text of an IP address.
        case client(serverName: String)
    }

    /// How far a handshake went.
    public enum Step: Sendable {
        /// Done: bytes can be read and written.
        case complete
        /// To be continued when the socket has something to read.
        case wantsRead
        /// To be continued when the socket takes bytes again.
        case wantsWrite
    }

    /// How far a read or a write went.
    public enum Transfer: Equatable, Sendable {
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

    /// Who reads and writes the socket.
    @safe private enum Engine {
        case library(OpaquePointer)
        case records(RecordStream)
    }

    let context: TLSContext
    private let descriptor: Int32
    private var engine: Engine
    /// What the handshake of a server's stream comes to; of no use behind it.
    private var secrets: TrafficSecrets?
    /// Set when OpenSSL must not be asked anything more of this connection.
    private var isBroken = false
    /// Steps of handshakes since the peer last sent something that counts; nil before the first one is complete.
    private var idleSteps: Int?
    /// A new key is up to three steps. Honest peers change theirs once in millions of records; one that does it all
    /// the time would keep this thread inside of one read for as long as it sends.
    private static let mostIdleSteps = 100

    /// A stream before its handshake. Allocates, and fails on a server name that is no name.
    ///
    /// - Precondition: `context` was made for the same role.
    public init(context: TLSContext, descriptor: Int32, role: Role) throws(CryptoError) {
        ErrorQueue.clear()
        guard let pointer = unsafe SSL_new(context.pointer) else {
            throw .local("A TLS connection cannot be made")
        }
        self.context = context
        self.descriptor = descriptor
        unsafe engine = .library(pointer)
        // Unretained: OpenSSL calls back only while it is called from here.
        guard unsafe SSL_set_ex_data(pointer, 0, Unmanaged.passUnretained(self).toOpaque()) == 1,
            unsafe SSL_set_fd(pointer, descriptor) == 1
        else {
            throw .local("A TLS connection cannot be made")
        }
        switch role {
        case .server:
            precondition(context.role == .server, "a server's stream needs a server's context")
            unsafe SSL_set_accept_state(pointer)
            secrets = TrafficSecrets()
        case .client(let serverName):
            precondition(context.role == .client, "a client's stream needs a client's context")
            unsafe SSL_set_connect_state(pointer)
            try expect(serverName)
        }
    }

    deinit {
        if case .library(let pointer) = engine { unsafe SSL_free(pointer) }
    }

    /// OpenSSL's stream.
    ///
    /// - Precondition: the handshake has not been left.
    var pointer: OpaquePointer {
        guard case .library(let pointer) = engine else {
            preconditionFailure("what was negotiated is asked before the handshake is left")
        }
        return unsafe pointer
    }

    /// Does what can be done of the handshake without waiting.
    ///
    /// - Throws: the sentence for the log; the peer was sent the alert, if the socket took it.
    public func handshake() throws(CryptoError) -> Step {
        precondition(!isBroken, "a handshake that failed is not repeated")
        ErrorQueue.clear()
        let status = unsafe SSL_do_handshake(pointer)
        if status == 1 {
            idleSteps = 0
            return .complete
        }
        switch try interruption(status, errno, "The TLS handshake failed") {
        case .wantsRead: return .wantsRead
        case .wantsWrite: return .wantsWrite
        case .endOfStream:
            isBroken = true
            throw CryptoError(.connection, "The peer closed the connection during the TLS handshake")
        }
    }

    /// Lets go of what only a handshake needs, which is 13 KiB: to be called when it is complete, and what was
    /// negotiated has been looked at. Of a client's stream, or one of TLS 1.2, nothing can be let go.
    public func leaveHandshake() {
        guard case .library(let pointer) = engine else { return }
        defer { secrets = nil }
        guard !isBroken, let layer = unsafe Self.records(of: pointer, secrets) else {
            // What follows is read as much at a time as there is.
            unsafe COpenSSL_set_read_ahead(pointer, 1)
            return
        }
        engine = .records(RecordStream(layer, descriptor: descriptor))
        unsafe SSL_free(pointer)
    }

    /// The records that follow a handshake, if it was a server's, one of TLS 1.3, and nothing behind it has been read.
    private static func records(of pointer: OpaquePointer, _ secrets: TrafficSecrets?) -> RecordLayer? {
        guard let secrets, unsafe SSL_is_init_finished(pointer) == 1,
            unsafe SSL_version(pointer) == TLS1_3_VERSION, unsafe SSL_has_pending(pointer) == 0,
            let suite = unsafe RecordSuite(
                identifier: SSL_CIPHER_get_protocol_id(SSL_get_current_cipher(pointer))),
            let keys = secrets.keys(suite)
        else { return nil }
        return RecordLayer(suite, receiving: keys.ofClient, sending: keys.ofServer)
    }

    /// Takes a line of what the handshake comes to.
    func note(_ line: UnsafePointer<CChar>) { unsafe secrets?.note(line) }

    /// Bytes of room that a read needs: a record of full length.
    public static let leastRoom = RecordLayer.mostBytes

    /// Reads into the start of `buffer`.
    ///
    /// Read until it wants something, or come back while ``hasBufferedInput``: TLS may hold what the socket
    /// no longer shows.
    /// - Precondition: `buffer` has ``leastRoom``.
    public func read(
        into buffer: inout MutableSpan<UInt8>, using ciphers: RecordCiphers
    ) throws(CryptoError) -> Transfer {
        precondition(buffer.count >= Self.leastRoom, "a read needs room for a record")
        switch engine {
        case .library(let pointer):
            guard !isBroken else { return .endOfStream }
            ErrorQueue.clear()
            var count = 0
            let status = unsafe buffer.withUnsafeMutableBufferPointer {
                unsafe SSL_read_ex(pointer, $0.baseAddress, $0.count, &count)
            }
            guard status == 1 else { return try transfer(status, errno, "TLS cannot read") }
            idleSteps = 0
            return .bytes(count)
        case .records(let stream):
            return try unsafe buffer.withUnsafeMutableBufferPointer { buffer throws(CryptoError) in
                try unsafe stream.read(into: buffer, ciphers)
            }
        }
    }

    /// Writes the start of `bytes`; no bytes are written at once.
    ///
    /// After ``Transfer/wantsRead`` or ``Transfer/wantsWrite`` the next write begins with the same bytes
    /// (they may have moved in memory and more may follow): a part of them is encrypted already.
    public func write(_ bytes: Span<UInt8>, using ciphers: RecordCiphers) throws(CryptoError) -> Transfer {
        guard !bytes.isEmpty else { return .bytes(0) }
        switch engine {
        case .library(let pointer):
            guard !isBroken else { return .endOfStream }
            ErrorQueue.clear()
            var count = 0
            let status = unsafe bytes.withUnsafeBufferPointer {
                unsafe SSL_write_ex(pointer, $0.baseAddress, $0.count, &count)
            }
            return status == 1 ? .bytes(count) : try transfer(status, errno, "TLS cannot write")
        case .records(let stream):
            return try unsafe bytes.withUnsafeBufferPointer { bytes throws(CryptoError) in
                try unsafe stream.write(bytes, ciphers)
            }
        }
    }

    /// Whether bytes of the peer are waiting here, or an end that was not told, out of the poller's sight. They may be
    /// a part of a record, so a read can still want more.
    public var hasBufferedInput: Bool {
        switch engine {
        case .library(let pointer): unsafe SSL_has_pending(pointer) == 1
        case .records(let stream): stream.hasBufferedInput
        }
    }

    /// Tells the peer that we will write nothing more (close_notify), if the socket takes it now. Waits for
    /// nothing.
    public func shutdown(using ciphers: RecordCiphers) {
        switch engine {
        case .library(let pointer):
            guard !isBroken, unsafe SSL_is_init_finished(pointer) == 1 else { return }
            ErrorQueue.clear()
            _ = unsafe SSL_shutdown(pointer)
            ErrorQueue.clear()
        case .records(let stream):
            stream.shutdown(ciphers)
        }
    }

    /// OpenSSL goes through a step of a handshake: the first one, or in TLS 1.3 a change of keys at any time.
    func takesHandshakeStep() {
        guard let steps = idleSteps else { return }
        idleSteps = steps + 1
        // The one way to have a read end from within: the rest of the input is taken for the peer's last.
        if isRestless { unsafe SSL_set_shutdown(pointer, SSL_RECEIVED_SHUTDOWN) }
    }

    private var isRestless: Bool { (idleSteps ?? 0) > Self.mostIdleSteps }

    /// Sets the name that the server's certificate must carry.
    private func expect(_ serverName: String) throws(CryptoError) {
        guard !serverName.isEmpty, !serverName.utf8.contains(0) else {
            throw CryptoError(.local, "A TLS client needs the name of its server")
        }
        if unsafe X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(pointer), serverName) == 1 { return }
        ErrorQueue.clear()
        unsafe SSL_set_hostflags(pointer, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
        guard unsafe SSL_set1_host(pointer, serverName) == 1,
            unsafe COpenSSL_set_tlsext_host_name(pointer, serverName) == 1
        else { throw .local("The server name \(serverName) cannot be used") }
    }

    private enum Interruption { case wantsRead, wantsWrite, endOfStream }

    private func transfer(_ status: CInt, _ code: CInt, _ what: String) throws(CryptoError) -> Transfer {
        switch try interruption(status, code, what) {
        case .wantsRead: .wantsRead
        case .wantsWrite: .wantsWrite
        case .endOfStream: .endOfStream
        }
    }

    /// Why OpenSSL did not do all of something: to be continued, or the end. `code` is errno right after the
    /// call.
    private func interruption(_ status: CInt, _ code: CInt, _ what: String) throws(CryptoError)
        -> Interruption
    {
        if isRestless {
            isBroken = true
            throw CryptoError(.peer, "\(what): the peer changes its keys all the time")
        }
        switch unsafe SSL_get_error(pointer, status) {
        case SSL_ERROR_WANT_READ: return .wantsRead
        case SSL_ERROR_WANT_WRITE: return .wantsWrite
        case SSL_ERROR_ZERO_RETURN: return .endOfStream
        case SSL_ERROR_SYSCALL:
            isBroken = true
            guard code != 0 else { return .endOfStream }
            throw .system(.connection, what, code)
        default:
            isBroken = true
            throw CryptoError(.peer, "\(what): \(reason())")
        }
    }
}
