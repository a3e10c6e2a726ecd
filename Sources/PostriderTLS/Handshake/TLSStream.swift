internal import CPostriderSSL
internal import Glibc
public import PostriderCrypto
public import PostriderTransport

/// TLS over one non-blocking, connected socket. It is used by one thread at a time, and may move with its
/// connection.
///
/// OpenSSL makes the handshake. A server's stream of TLS 1.3 goes on without it once ``leaveHandshake(using:)`` was
/// called: its records are then sealed and opened by a ``RecordLayer``, with OpenSSL's ciphers. Every other stream
/// stays with OpenSSL; so does each one of a context with ``TLSRecords/openssl``.
///
/// The socket stays its owner's, who closes it after this object is gone or done. OpenSSL reads and writes it
/// with `read` and `write`, so the process ignores SIGPIPE.
@safe public final class TLSStream {
    /// How far a handshake went.
    public typealias Step = TLSStep
    /// How far a read or a write went.
    public typealias Transfer = TLSTransfer

    /// Who reads and writes the socket.
    @safe enum Engine {
        case library(OpaquePointer)
        case records(RecordStream)
    }

    let context: TLSContext
    let descriptor: Int32
    var engine: Engine
    /// The secrets that OpenSSL reports of a server's handshake, until the handshake is left; nil if they are not
    /// wanted.
    var secrets: TrafficSecrets?
    /// Set when OpenSSL must not be asked anything more of this connection.
    var isBroken = false
    /// The last alert that OpenSSL has sent or received.
    var lastAlert: (name: String, isSent: Bool)?
    /// Steps of handshakes since the peer last sent something that counts; nil before the first one is complete.
    var idleSteps: Int?
    /// A new key is up to three steps. Honest peers change theirs once in millions of records; one that does it all
    /// the time would keep this thread inside of one read for as long as it sends.
    private static let mostIdleSteps = 100

    /// The side that began, before its handshake. Allocates, and fails on a server name that is no name.
    ///
    /// - Parameter serverName: what the server's certificate must carry: a host name (also sent as SNI) or the text of
    ///   an IP address.
    /// - Precondition: `context` is a client's.
    public init(context: TLSContext, descriptor: Int32, serverName: String) throws(CryptoError) {
        precondition(context.role == .client, "a client's stream needs a client's context")
        unsafe engine = .library(try Self.make(context))
        self.context = context
        self.descriptor = descriptor
        try begin()
        unsafe SSL_set_connect_state(pointer)
        try expect(serverName)
    }

    /// The side that shows a certificate, before its handshake. Allocates.
    ///
    /// - Precondition: `context` is a server's.
    public init(accepting descriptor: Int32, context: TLSContext) throws(CryptoError) {
        precondition(context.role == .server, "a server's context accepts connections")
        unsafe engine = .library(try Self.make(context))
        self.context = context
        self.descriptor = descriptor
        if context.records == .own { secrets = TrafficSecrets() }
        try begin()
        unsafe SSL_set_accept_state(pointer)
    }

    private static func make(_ context: TLSContext) throws(CryptoError) -> OpaquePointer {
        ErrorQueue.clear()
        guard let pointer = unsafe SSL_new(context.pointer) else {
            throw .local("A TLS connection cannot be made")
        }
        return unsafe pointer
    }

    private func begin() throws(CryptoError) {
        // Unretained: OpenSSL calls back only while it is called from here.
        guard unsafe SSL_set_ex_data(pointer, 0, Unmanaged.passUnretained(self).toOpaque()) == 1,
            unsafe SSL_set_fd(pointer, descriptor) == 1
        else {
            throw .local("A TLS connection cannot be made")
        }
    }

    deinit {
        if case .library(let pointer) = engine { unsafe SSL_free(pointer) }
    }

    /// The stream behind an `SSL` that OpenSSL calls back with.
    static func behind(_ ssl: OpaquePointer?) -> TLSStream? {
        guard let stream = unsafe SSL_get_ex_data(ssl, 0) else { return nil }
        return unsafe Unmanaged<TLSStream>.fromOpaque(stream).takeUnretainedValue()
    }

    /// Whether records are sealed and opened without OpenSSL's stream: nobody at either end can tell. For tests.
    var hasLeftOpenSSL: Bool {
        if case .records = engine { true } else { false }
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

    /// Bytes of room that a read needs: a record of full length.
    public static let leastRoom = RecordLayer.mostBytes

    /// Reads into the start of `buffer`.
    ///
    /// Read until it wants something, or come back while ``hasBufferedInput``: TLS may hold what the socket
    /// no longer shows.
    /// - Precondition: `buffer` has ``leastRoom``.
    public func read(
        into buffer: inout MutableSpan<UInt8>, using ciphers: AEADContexts
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
    public func write(_ bytes: Span<UInt8>, using ciphers: AEADContexts) throws(CryptoError) -> Transfer {
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
    public func shutdown(using ciphers: AEADContexts) {
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

    /// This thread does not use the stream any more: it ends, or goes to another thread. The next
    /// ``AEADContexts/forgetKeys()`` overwrites what is left of its keys among the contexts of this one.
    public func release(using ciphers: AEADContexts) {
        if case .records = engine { ciphers.noteOldKey() }
    }

    var isRestless: Bool { (idleSteps ?? 0) > Self.mostIdleSteps }

    enum Interruption { case wantsRead, wantsWrite, endOfStream }

    private func transfer(_ status: CInt, _ code: CInt, _ what: String) throws(CryptoError) -> Transfer {
        switch try interruption(status, code, what) {
        case .wantsRead: .wantsRead
        case .wantsWrite: .wantsWrite
        case .endOfStream: .endOfStream
        }
    }

    /// Why OpenSSL did not do all of something: to be continued, or the end. `code` is errno right after the
    /// call.
    func interruption(_ status: CInt, _ code: CInt, _ what: String) throws(CryptoError)
        -> Interruption
    {
        if isRestless {
            isBroken = true
            throw CryptoError(.peer, "\(what): too many KeyUpdates", name: "too many KeyUpdates")
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
            let isNotTLS = ErrorQueue.isNotTLS
            let reason = reason()
            throw CryptoError(
                .peer, "\(what): \(reason)", name: lastAlert?.name ?? reason, isNotTLS: isNotTLS)
        }
    }
}
