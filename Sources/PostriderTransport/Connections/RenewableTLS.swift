internal import Synchronization

/// The TLS provider of new connections, which can be replaced while a listener uses it. Open connections keep the
/// provider that they began with, so a replacement does not affect them.
///
/// A listener reads it once for each connection that it accepts. That takes a lock for as long as copying a pointer
/// takes, which is little beside a handshake. Reads and writes of a connection do not use it.
public final class RenewableTLS: Sendable {
    private struct State {
        var provider: any TLSProvider
        /// A provider for the next connections, and their number.
        var substitute: (provider: any TLSProvider, connections: Int)?
    }

    private let state: Mutex<State>

    /// Starts with this provider.
    public init(_ provider: any TLSProvider) { state = Mutex(State(provider: provider)) }

    /// The provider for connections that begin now, apart from a substitute.
    public var current: any TLSProvider { state.withLock { $0.provider } }

    /// Replaces the provider for connections that begin from now on. It may be called from any thread.
    public func renew(_ provider: any TLSProvider) { state.withLock { $0.provider = provider } }

    /// Lets another provider serve the next `connections` connections; none if it is 0. It may be called from any
    /// thread.
    public func substitute(_ provider: any TLSProvider, forNext connections: Int) {
        state.withLock { $0.substitute = connections > 0 ? (provider, connections) : nil }
    }

    /// The provider for one connection that was accepted.
    func draw() -> any TLSProvider {
        state.withLock { state in
            guard let substitute = state.substitute else { return state.provider }
            let left = substitute.connections - 1
            state.substitute = left > 0 ? (substitute.provider, left) : nil
            return substitute.provider
        }
    }
}
