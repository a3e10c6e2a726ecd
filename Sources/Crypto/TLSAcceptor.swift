internal import COpenSSL

/// The server's side of the handshakes of one thread.
///
/// OpenSSL gives the secrets of a handshake out in one way only, as lines of a log (SSL_CTX_set_keylog_callback(3)),
/// and calls `sprintf` for each byte of them. Of five lines two are wanted: there is a log when one of these comes, and
/// none otherwise. What switches it is no connection's but the `SSL_CTX`'s, of which each thread has its own therefore.
@safe public final class TLSAcceptor {
    /// What it was made of.
    let source: TLSContext
    /// A copy that is used by this thread only.
    private let own: TLSContext
    private var isLogging = false

    /// Accepts connections with what a server's context says.
    public init(_ context: TLSContext) throws(CryptoError) {
        precondition(context.role == .server, "a server's context accepts connections")
        source = context
        own = try context.copy()
    }

    /// A stream before its handshake, over an accepted socket. Allocates.
    public func stream(descriptor: Int32) throws(CryptoError) -> TLSStream {
        try TLSStream(context: own, descriptor: descriptor, acceptor: self)
    }

    /// Whether the secrets that come next are logged, of whatever connection.
    func setLogging(_ isOn: Bool) {
        guard isOn != isLogging else { return }
        isLogging = isOn
        guard isOn else { return unsafe SSL_CTX_set_keylog_callback(own.pointer, nil) }
        unsafe SSL_CTX_set_keylog_callback(
            own.pointer,
            { ssl, line in
                if let line = unsafe line { unsafe TLSStream.behind(ssl)?.note(line) }
            })
    }
}
