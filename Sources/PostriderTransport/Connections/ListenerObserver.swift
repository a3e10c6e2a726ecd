/// Is told by a ``Listener`` what becomes of connections that have no handler yet. It is called on the listener's loop.
public protocol ListenerObserver {
    /// A connection was closed as soon as it was accepted.
    func refused(_ refusal: Refusal, _ peer: Peer)
    /// A connection ended before it had a handler.
    func failed(_ reason: CloseReason, _ peer: Peer)
    /// A TLS handshake has ended, so many nanoseconds after its connection was accepted.
    func handshakeEnded(nanoseconds: UInt64)
}

/// The numbers of a listener's connections.
public struct ListenerCounts {
    /// Connections that were accepted.
    public internal(set) var accepted = 0
    /// Connections that were closed as soon as they were accepted; see ``Refusal``.
    public internal(set) var refused = 0
    /// Connections that ended before they had a handler, mostly by failed handshakes.
    public internal(set) var failed = 0
    /// Accepted connections that neither have a handler yet nor have ended.
    public internal(set) var opening = 0
}
