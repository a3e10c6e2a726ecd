internal import Glibc
internal import PostriderProxies

/// The steps from a socket to an established connection, which then releases this.
final class ConnectionOpening {
    /// What the connection waits for.
    enum Step {
        /// The result of connect(2).
        case connecting
        /// A load balancer says whose connection it is.
        case introducing(Introduction)
        /// The TLS handshake. It is over at once if there is no TLS.
        case handshaking
    }

    private(set) var step: Step
    /// The readiness that the step waits for.
    private(set) var awaits: Readiness
    /// The listener that accepted the connection; nil for a connection that this side opened.
    private var listener: Listener?
    /// Whether the loop's `HandshakeLimiter` counts this handshake.
    private var isPaced = false
    /// When the handshake of an accepted connection began, in monotonic nanoseconds; 0 if it has none.
    private var beganAt: UInt64 = 0

    init(_ step: Step, by listener: Listener? = nil) {
        self.step = step
        self.listener = listener
        if case .connecting = step { awaits = .writable } else { awaits = .readable }
    }

    /// Why the connection ends if the step takes too long.
    var timeout: CloseReason {
        switch step {
        case .connecting: .connectTimeout
        case .introducing: .notIntroduced(ProxyHeaderFailure.late.description)
        case .handshaking: .handshakeTimeout
        }
    }

    /// Starts an accepted connection.
    func begin(_ connection: Connection) {
        if case .introducing = step { return connection.setDeadline(connection.limits.handshakeMilliseconds) }
        guard connection.stream.tls == nil else { return awaitHandshake(connection) }
        connection.established()
    }

    /// Goes on when the socket is ready.
    func proceed(_ connection: Connection) {
        switch step {
        case .connecting: finishConnecting(connection)
        case .introducing(let introduction): read(introduction, connection)
        case .handshaking: continueHandshake(connection)
        }
    }

    private func finishConnecting(_ connection: Connection) {
        if let error = Socket.pendingError(connection.number) { return connection.end(.refused(error.text)) }
        (connection.session as? DialAttempt)?.connected()
        if connection.stream.tls == nil { connection.established() } else { beginHandshake(connection) }
    }

    // MARK: Load balancers

    /// Reads what a load balancer says about the connection.
    private func read(_ introduction: Introduction, _ connection: Connection) {
        guard let loop = connection.loop, let listener else { return }
        switch unsafe introduction.read(connection.number, using: loop.input) {
        case .wantsRead: return
        case .ended(let reason): connection.end(reason)
        case .failed(let failure): connection.end(.notIntroduced(failure.description))
        case .complete(let client):
            guard listener.introduced(connection, as: client) else {
                self.listener = nil
                return connection.end(.overloaded)
            }
            introduced(connection)
        }
    }

    /// Goes on with an accepted connection whose client is known. The client's first bytes may have arrived with the
    /// header, and epoll may not report them again.
    private func introduced(_ connection: Connection) {
        guard connection.stream.tls != nil else { return connection.established() }
        step = .handshaking
        awaitHandshake(connection)
        continueHandshake(connection)
    }

    // MARK: The handshake

    private func awaitHandshake(_ connection: Connection) {
        if connection.isDeferrable, let pace = connection.loop?.pace {
            isPaced = true
            pace.began()
        }
        beganAt = EventLoop.read(CLOCK_MONOTONIC)
        connection.setDeadline(connection.limits.handshakeMilliseconds)
    }

    /// Begins the TLS handshake of a client.
    func beginHandshake(_ connection: Connection) {
        step = .handshaking
        connection.setDeadline(connection.limits.handshakeMilliseconds)
        continueHandshake(connection)
    }

    private func continueHandshake(_ connection: Connection) {
        guard connection.isDeferrable, let pace = connection.loop?.pace else { return shakeHands(connection) }
        let start = EventLoop.read(CLOCK_MONOTONIC)
        shakeHands(connection)
        pace.spend(EventLoop.read(CLOCK_MONOTONIC) - start)
    }

    private func shakeHands(_ connection: Connection) {
        guard let tls = connection.stream.tls, let loop = connection.loop else {
            preconditionFailure("bug: a handshake without TLS, or a loop")
        }
        do {
            switch try tls.handshake(using: loop.workspace(of: tls)) {
            case .complete:
                // `opened` may move the connection to another thread, so nothing may follow this call.
                return connection.established()
            case .wantsRead: awaits = .readable
            case .wantsWrite: awaits = .writable
            }
            connection.updateInterest()
        } catch {
            // Closes in order, because a reset could overtake the alert that tells the peer the reason.
            connection.finish(reason(error, connection.number))
        }
    }

    private func reason(_ error: TLSFailure, _ number: Int32) -> CloseReason {
        if error.isNotTLS,
            let preamble = Preamble(afterRecordHead: Socket.peek(number, atMost: Preamble.mostBytes))
        {
            return .notTLS(preamble)
        }
        let isBroken = error.origin == .connection
        return .handshakeFailed(error.description, name: isBroken ? nil : error.name ?? "handshake failure")
    }

    // MARK: The end

    /// The connection is established. Completes what is known of the peer, and gives the connection its handler.
    ///
    /// - Returns: false if the listener has no handler for it.
    func succeed(_ connection: Connection, on loop: EventLoop) -> Bool {
        connection.ticket?.handshakeEnded()
        leavePace(on: loop)
        if let tls = connection.stream.tls {
            if listener?.recordsTLSDetails == true { connection.peer.tls = tls.details }
            let agreement = tls.finishHandshake(using: loop.workspace(of: tls))
            connection.peer.negotiatedProtocol = agreement.negotiatedProtocol
            connection.peer.certificate = agreement.certificate
        } else if connection.peer.credentials == nil, connection.peer.address.hasPrefix("unix:") {
            connection.peer = Peer(
                address: connection.peer.address, credentials: Socket.credentials(connection.number))
        }
        guard let listener else { return true }
        if beganAt > 0 {
            listener.observer?.handshakeEnded(nanoseconds: EventLoop.read(CLOCK_MONOTONIC) - beganAt)
        }
        connection.session = listener.makeSession(connection.peer)
        guard connection.session != nil else {
            listener.connectionFailed(.overloaded, connection.peer)
            return false
        }
        listener.connectionOpened()
        return true
    }

    /// The connection has ended before it was established.
    func fail(_ reason: CloseReason, _ connection: Connection) {
        if let loop = connection.loop { leavePace(on: loop) }
        listener?.connectionFailed(reason, connection.peer)
        listener = nil
    }

    /// Removes this handshake from the loop's `HandshakeLimiter`.
    private func leavePace(on loop: EventLoop) {
        guard isPaced else { return }
        isPaced = false
        loop.pace?.ended()
    }
}
