internal import Synchronization

/// The context for connections that begin now. It can be replaced while a listener uses it: connections keep the
/// one that they began with, so nothing that is open notices.
///
/// A listener asks once for each connection that it accepts, which costs a lock that nobody holds for longer than
/// a pointer takes to copy; what follows is a handshake. Nothing that is read or written asks again.
public final class RenewableTLS: Sendable {
    private let context: Mutex<TLSContext>

    /// Begins with this context.
    public init(_ context: TLSContext) { self.context = Mutex(context) }

    /// The context for a connection that begins now.
    public var current: TLSContext { context.withLock { $0 } }

    /// Serves connections that begin from now on with another context. From any thread.
    public func renew(_ context: TLSContext) { self.context.withLock { $0 = context } }
}
