internal import Synchronization

/// The TLS provider of new connections, which can be replaced while a listener uses it. Open connections keep the
/// provider that they began with, so a replacement does not affect them.
///
/// A listener reads it once for each connection that it accepts. That takes a lock for as long as copying a pointer
/// takes, which is little beside a handshake. Reads and writes of a connection do not use it.
public final class RenewableTLS: Sendable {
    private let provider: Mutex<any TLSProvider>

    /// Starts with this provider.
    public init(_ provider: any TLSProvider) { self.provider = Mutex(provider) }

    /// The provider for connections that begin now.
    public var current: any TLSProvider { provider.withLock { $0 } }

    /// Replaces the provider for connections that begin from now on. It may be called from any thread.
    public func renew(_ provider: any TLSProvider) { self.provider.withLock { $0 = provider } }
}
