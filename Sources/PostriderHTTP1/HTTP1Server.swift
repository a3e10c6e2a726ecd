internal import CPostriderMicrohttpd
public import PostriderTransport
internal import Synchronization

/// A small HTTP/1.1 server based on libmicrohttpd. A thread of its own answers one request after the other, or each
/// connection has a thread (``HTTP1Bounds``). It is for operators, tests and their tools, and not for frequent
/// requests.
public final class HTTP1Server: Sendable {
    /// Answers a request on the server's thread, or on that of the connection. Other requests on it wait meanwhile.
    public typealias Respond = @Sendable (HTTP1Request) -> HTTP1Response

    /// The address it listens on, with the port that the kernel chose if the port was 0.
    public var address: SocketAddress { socket.address }

    private let socket: ListeningSocket
    private let bounds: HTTP1Bounds
    private let context: Context
    private let daemon = Mutex<Daemon?>(nil)

    /// The context that the library passes to each of its callbacks.
    final class Context: Sendable {
        let respond: Respond
        /// The most bytes of a request's body.
        let bodyBytes: Int
        let abandoned = Atomic<UInt64>(0)

        init(_ respond: @escaping Respond, bodyBytes: Int) {
            self.respond = respond
            self.bodyBytes = bodyBytes
        }
    }

    /// Starts a server.
    ///
    /// - Parameters:
    ///   - certificate: the certificate and its key; nil for no TLS.
    ///   - inherited: a socket of the address among these is used instead of a new one.
    /// - Throws: ``HTTP1Error`` if the library refuses the certificate or a thread cannot be started;
    ///   `TransportError` if the address cannot be listened on.
    public init(
        at address: SocketAddress, certificate: HTTP1Certificate?, bounds: HTTP1Bounds,
        inherited: InheritedSockets? = nil, respond: @escaping Respond
    ) throws {
        socket = try ListeningSocket(address, inherited: inherited)
        self.bounds = bounds
        context = Context(respond, bodyBytes: bounds.bodyBytes)
        try use(certificate)
    }

    deinit { stop() }

    /// The number of responses that were not taken: the client left, or made no progress for longer than
    /// ``HTTP1Bounds`` permit.
    public var abandonedCount: UInt64 { context.abandoned.load(ordering: .relaxed) }

    /// Replaces the certificate. Open connections are closed.
    ///
    /// - Throws: ``HTTP1Error``; nothing has changed then.
    public func renew(_ certificate: HTTP1Certificate?) throws { try use(certificate) }

    /// Closes all connections and ends the threads. It returns after the current requests are answered.
    public func stop() { daemon.withLock { $0 = nil } }

    private func use(_ certificate: HTTP1Certificate?) throws {
        var other: Daemon? = try Daemon(try socket.duplicate(), certificate, bounds, context)
        // The new daemon accepts connections before the old one ends, so no client is refused.
        daemon.withLock { swap(&$0, &other) }
    }
}

/// A running daemon of the library. It ends when this value is released.
@safe private struct Daemon: ~Copyable, @unchecked Sendable {
    private let pointer: OpaquePointer
    /// The library refers to the context without a reference count.
    private let context: HTTP1Server.Context

    /// TLS 1.2 and 1.3, with GnuTLS's default algorithms.
    private static let priorities = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

    /// Starts a daemon on a listening socket, which the daemon closes at its end.
    init(
        _ descriptor: Int32, _ certificate: HTTP1Certificate?, _ bounds: HTTP1Bounds,
        _ context: HTTP1Server.Context
    ) throws(HTTP1Error) {
        var flags = MHD_USE_ITC.rawValue
        flags |=
            bounds.hasThreadPerConnection
            ? MHD_USE_THREAD_PER_CONNECTION.rawValue | MHD_USE_POLL_INTERNAL_THREAD.rawValue
            : MHD_USE_EPOLL_INTERNAL_THREAD.rawValue
        if certificate != nil { flags |= MHD_USE_TLS.rawValue }
        let opaque = unsafe Unmanaged.passUnretained(context).toOpaque()
        var options = unsafe [
            Self.option(MHD_OPTION.LISTEN_SOCKET, Int(descriptor)),
            Self.option(MHD_OPTION.CONNECTION_LIMIT, bounds.connections),
            Self.option(MHD_OPTION.CONNECTION_TIMEOUT, bounds.timeoutSeconds),
            Self.option(MHD_OPTION.CONNECTION_MEMORY_LIMIT, bounds.connectionBytes),
            Self.option(MHD_OPTION.NOTIFY_COMPLETED, unsafeBitCast(completed, to: Int.self), opaque),
        ]
        if let most = bounds.connectionsPerAddress {
            unsafe options.append(Self.option(MHD_OPTION.PER_IP_CONNECTION_LIMIT, most))
        }
        let started: OpaquePointer? = unsafe Self.withTexts(of: certificate) { key, chain, priorities in
            if let key = unsafe key, let chain = unsafe chain {
                unsafe options.append(Self.option(MHD_OPTION.HTTPS_MEM_KEY, 0, key))
                unsafe options.append(Self.option(MHD_OPTION.HTTPS_MEM_CERT, 0, chain))
                unsafe options.append(Self.option(MHD_OPTION.HTTPS_PRIORITIES, 0, priorities))
            }
            unsafe options.append(Self.option(MHD_OPTION.END, 0))
            return unsafe cmicrohttpd_start(flags, answer, opaque, options)
        }
        guard let started = unsafe started else {
            _ = CPostriderMicrohttpd.close(descriptor)
            throw HTTP1Error(
                description: certificate == nil
                    ? "libmicrohttpd could not start: no thread or no descriptor is left for it."
                    : "libmicrohttpd could not start: GnuTLS does not take the certificate and its key, "
                        + "or no thread is left for it.")
        }
        unsafe pointer = started
        self.context = context
    }

    deinit { unsafe MHD_stop_daemon(pointer) }

    private static func option(
        _ option: MHD_OPTION, _ value: Int, _ pointer: UnsafeMutableRawPointer? = nil
    ) -> MHD_OptionItem {
        unsafe MHD_OptionItem(option: option, value: value, ptr_value: pointer)
    }

    /// Passes the key, the certificate and the priorities as C strings to `body`. The library reads them while it
    /// starts.
    private static func withTexts<Result>(
        of certificate: HTTP1Certificate?,
        _ body: (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Result
    ) -> Result {
        guard let certificate else { return body(nil, nil, nil) }
        return unsafe certificate.key.withCString { key in
            unsafe certificate.chain.withCString { chain in
                unsafe priorities.withCString { priorities in
                    unsafe body(
                        UnsafeMutableRawPointer(mutating: key), UnsafeMutableRawPointer(mutating: chain),
                        UnsafeMutableRawPointer(mutating: priorities))
                }
            }
        }
    }
}
