/// What a ``ConnectionHandler`` writes to and closes: a ``Connection``, or the simulator's own type.
public protocol ConnectionOutput: AnyObject {
    /// Asks for one call of `flush(into:)` at the end of this turn. Repeated calls in a turn have no further effect
    /// and cost little.
    func setNeedsFlush()

    /// Closes the connection in order: writes the handler's last output (within the write deadline), ends our output,
    /// then calls `closed(reason)`. Nothing more is received from now on.
    func close(_ reason: CloseReason)

    /// Closes the connection at once. `closed(reason)` is called before this turn ends.
    func abort(_ reason: CloseReason)

    /// Reads nothing more from the socket until ``resumeReading()``. What was read before is still handled, and output
    /// goes on.
    func pauseReading()

    /// Reads again after ``pauseReading()``.
    func resumeReading()

    /// The other end of the connection.
    var peer: Peer { get }

    /// Whether output waits for the socket. Until it is written, the handler is not asked for more.
    var isBlocked: Bool { get }
}

extension ConnectionOutput {
    /// The default does nothing.
    public func pauseReading() {}
    /// The default does nothing.
    public func resumeReading() {}

    /// The address of the other end without its port; nil for a Unix socket and in a simulation.
    public var remoteHost: String? { (try? SocketAddress(peer.address))?.host }

    /// Identifies the network path of a connection by the addresses of this machine and of the other end. Empty for a
    /// Unix socket and in a simulation.
    public var pathName: String {
        guard let connection = self as? Connection,
            let local = Socket.localAddress(connection.number)?.host
        else { return "" }
        return "\(local) to \(connection.peer.address)"
    }
}
