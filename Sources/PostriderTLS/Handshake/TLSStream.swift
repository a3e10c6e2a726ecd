internal import CPostriderSSL
internal import Glibc
public import PostriderCrypto
public import PostriderTransport

/// TLS on one non-blocking, connected socket. It is used by one thread at a time, and may move with its connection.
///
/// OpenSSL performs the handshake. After ``leaveHandshake(using:)``, a server's stream of TLS 1.3 continues without
/// OpenSSL's stream: a ``RecordLayer`` encrypts and decrypts its records, with OpenSSL's ciphers. Every other stream
/// stays with OpenSSL, and so does every stream of a context with ``TLSRecords/openssl``.
///
/// The owner of the socket closes it after this object is released or done. OpenSSL uses `read` and `write` on the
/// socket, so the process must ignore SIGPIPE.
@safe public final class TLSStream {
    /// The result of one step of a handshake.
    public typealias Step = TLSStep
    /// The result of a read or a write.
    public typealias Transfer = TLSTransfer

    /// The implementation that reads and writes the socket.
    @safe enum Engine {
        case library(OpaquePointer)
        case records(RecordStream)
    }

    let context: TLSContext
    let descriptor: Int32
    var engine: Engine
    /// The secrets that OpenSSL reports during a server's handshake, until the handshake is left; nil if they are not
    /// needed.
    var secrets: TrafficSecrets?
    /// Whether the connection is broken, so that OpenSSL must not be called for it any more.
    var isBroken = false
    /// The last alert that OpenSSL has sent or received.
    var lastAlert: (name: String, isSent: Bool)?
    /// The number of handshake steps since the peer last sent content; nil before the first handshake is complete.
    var idleSteps: Int?
    /// The most handshake steps without content; a KeyUpdate takes up to three. Honest peers update their key once in
    /// millions of records. A peer that floods us with KeyUpdates would keep this thread inside of one read for as
    /// long as it sends.
    private static let mostIdleSteps = 100

    /// Makes a client's stream, before its handshake. It allocates, and fails if the server name is not a valid name.
    ///
    /// - Parameter serverName: the name for which the server's certificate must be valid: a host name (also sent as
    ///   SNI) or the text of an IP address.
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

    /// Makes a server's stream, before its handshake. It allocates.
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
        // The reference is unretained, because OpenSSL calls back only during calls from here.
        guard unsafe SSL_set_ex_data(pointer, 0, Unmanaged.passUnretained(self).toOpaque()) == 1,
            unsafe SSL_set_fd(pointer, descriptor) == 1
        else {
            throw .local("A TLS connection cannot be made")
        }
    }

    deinit {
        if case .library(let pointer) = engine { unsafe SSL_free(pointer) }
    }

    /// The stream of an `SSL` that OpenSSL passes to a callback.
    static func behind(_ ssl: OpaquePointer?) -> TLSStream? {
        guard let stream = unsafe SSL_get_ex_data(ssl, 0) else { return nil }
        return unsafe Unmanaged<TLSStream>.fromOpaque(stream).takeUnretainedValue()
    }

    /// Whether records are handled without OpenSSL's stream, which neither end can observe. For tests.
    var hasLeftOpenSSL: Bool {
        if case .records = engine { true } else { false }
    }

    /// OpenSSL's `SSL`.
    ///
    /// - Precondition: the handshake has not been left.
    var pointer: OpaquePointer {
        guard case .library(let pointer) = engine else {
            preconditionFailure("what was negotiated is asked before the handshake is left")
        }
        return unsafe pointer
    }

    /// The least size of a read buffer in bytes: a record of full length.
    public static let leastRoom = RecordLayer.mostBytes

    /// Reads into the start of `buffer`.
    ///
    /// Call it until it returns ``Transfer/wantsRead`` or ``Transfer/wantsWrite``, or call it again while
    /// ``hasBufferedInput`` is true: TLS may hold bytes that the socket no longer reports.
    /// - Precondition: `buffer` has ``leastRoom`` bytes.
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

    /// Writes the start of `bytes`. If `bytes` is empty, it returns at once.
    ///
    /// After ``Transfer/wantsRead`` or ``Transfer/wantsWrite`` the next write must begin with the same bytes (they
    /// may have moved in memory, and more may follow), because some of them are encrypted already.
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

    /// Whether this object holds bytes of the peer, or an end that was not reported, which the poller cannot see. The
    /// bytes may be part of a record, so a read may still want more.
    public var hasBufferedInput: Bool {
        switch engine {
        case .library(let pointer): unsafe SSL_has_pending(pointer) == 1
        case .records(let stream): stream.hasBufferedInput
        }
    }

    /// Sends close_notify if the socket takes it now. It does not block.
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

    /// Tells the stream that this thread does not use it any more, because it ends or moves to another thread. The
    /// next ``AEADContexts/forgetKeys()`` overwrites copies of its keys in this thread's contexts.
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

    /// Returns what OpenSSL waits for, or throws why it failed. `code` is errno right after the call.
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
