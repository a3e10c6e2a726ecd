/// What a session writes to. A connection is one; a simulator has its own.
public protocol ConnectionOutput: AnyObject {
    /// Asks for one `flush(into:)` at the end of this turn. Cheap, and as good once as many times.
    func setNeedsFlush()

    /// Ends the connection in order: what the session flushes (bounded by the write deadline), then the end
    /// of our output, then `closed(reason)`. Nothing more is received from now on.
    func close(_ reason: CloseReason)

    /// Ends the connection at once; `closed(reason)` follows before this turn ends.
    func abort(_ reason: CloseReason)

    /// The other end.
    var peer: Peer { get }

    /// Whether output waits for the socket; then the session is not asked to flush.
    var isBlocked: Bool { get }
}

extension ConnectionOutput {
    /// The address of the other end without its port; nil for a Unix socket, and in a simulation.
    public var remoteHost: String? { (try? SocketAddress(peer.address))?.host }

    /// What names the network path of a connection: the address of this machine and that of the other end. Empty for a
    /// Unix socket, and in a simulation.
    public var pathName: String {
        guard let connection = self as? Connection,
            let local = Socket.localAddress(connection.number)?.host
        else { return "" }
        return "\(local) to \(connection.peer.address)"
    }
}
