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
    private enum Engine {
        case library(OpenSSLStream)
        case records(RecordStream)
    }

    private let descriptor: Int32
    private var engine: Engine

    /// Makes a client's stream, before its handshake. It allocates, and fails if the server name is not a valid name.
    ///
    /// - Parameter serverName: the name for which the server's certificate must be valid: a host name (also sent as
    ///   SNI) or the text of an IP address.
    /// - Precondition: `context` is a client's.
    public init(context: TLSContext, descriptor: Int32, serverName: String) throws(CryptoError) {
        precondition(context.role == .client, "a client's stream needs a client's context")
        engine = .library(try OpenSSLStream(descriptor, context: context, serverName: serverName))
        self.descriptor = descriptor
    }

    /// Makes a server's stream, before its handshake. It allocates.
    ///
    /// - Precondition: `context` is a server's.
    public init(accepting descriptor: Int32, context: TLSContext) throws(CryptoError) {
        precondition(context.role == .server, "a server's context accepts connections")
        engine = .library(try OpenSSLStream(descriptor, context: context))
        self.descriptor = descriptor
    }

    /// Whether records are handled without OpenSSL's stream, which neither end can observe. For tests.
    var hasLeftOpenSSL: Bool {
        if case .records = engine { true } else { false }
    }

    /// OpenSSL's `SSL`.
    ///
    /// - Precondition: the handshake has not been left.
    var pointer: OpaquePointer {
        guard case .library(let library) = engine else {
            preconditionFailure("what was negotiated is asked before the handshake is left")
        }
        return unsafe library.pointer
    }

    /// Continues the handshake as far as possible without blocking.
    ///
    /// - Throws: the sentence for the log. The peer was sent the alert if the socket took it.
    public func handshake(using ciphers: AEADContexts) throws(CryptoError) -> Step {
        guard case .library(let library) = engine else {
            preconditionFailure("a handshake that was left is not repeated")
        }
        return try library.handshake()
    }

    /// Frees the 13 KiB that only a handshake needs, if records can go on without OpenSSL's stream. Call it when the
    /// handshake is complete and its results have been read. Otherwise nothing changes: for a client's stream, TLS
    /// 1.2, and ``TLSRecords/openssl``.
    public func leaveHandshake(using ciphers: AEADContexts) {
        guard case .library(let library) = engine, let layer = library.leaveHandshake(ciphers) else { return }
        engine = .records(RecordStream(layer, descriptor: descriptor))
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
        case .library(let library): return try library.read(into: &buffer)
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
        case .library(let library): return try library.write(bytes)
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
        case .library(let library): library.hasBufferedInput
        case .records(let stream): stream.hasBufferedInput
        }
    }

    /// Sends close_notify if the socket takes it now. It does not block.
    public func shutdown(using ciphers: AEADContexts) {
        switch engine {
        case .library(let library): library.shutdown()
        case .records(let stream): stream.shutdown(ciphers)
        }
    }

    /// Tells the stream that this thread does not use it any more, because it ends or moves to another thread. The
    /// next ``AEADContexts/forgetKeys()`` overwrites copies of its keys in this thread's contexts.
    public func release(using ciphers: AEADContexts) {
        if case .records = engine { ciphers.noteOldKey() }
    }
}
