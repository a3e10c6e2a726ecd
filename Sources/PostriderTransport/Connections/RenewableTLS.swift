internal import Synchronization

/// The TLS of connections that begin now. It can be replaced while a listener uses it: connections keep the
/// one that they began with, so nothing that is open notices.
///
/// A listener asks once for each connection that it accepts, which costs a lock that nobody holds for longer than
/// a pointer takes to copy; what follows is a handshake. Nothing that is read or written asks again.
public final class RenewableTLS: Sendable {
    private let provider: Mutex<any TLSProvider>

    /// Begins with this one.
    public init(_ provider: any TLSProvider) { self.provider = Mutex(provider) }

    /// That for a connection that begins now.
    public var current: any TLSProvider { provider.withLock { $0 } }

    /// Serves connections that begin from now on with another one. From any thread.
    public func renew(_ provider: any TLSProvider) { self.provider.withLock { $0 = provider } }
}
