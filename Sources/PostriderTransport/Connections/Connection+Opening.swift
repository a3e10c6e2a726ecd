internal import Glibc
internal import PostriderProxies

/// The steps from a socket to an established connection.
extension Connection {
    /// Starts an accepted connection.
    func begin(for listener: Listener) {
        self.listener = listener
        if case .introducing = phase { return setDeadline(limits.handshakeMilliseconds) }
        guard tls == nil else { return awaitHandshake() }
        established()
    }

    private func awaitHandshake() {
        beginPace()
        handshakeBeganAt = EventLoop.read(CLOCK_MONOTONIC)
        setDeadline(limits.handshakeMilliseconds)
    }

    /// Reads what a load balancer says about the connection.
    func readIntroduction(_ introduction: Introduction) {
        guard let loop, let listener else { return }
        switch unsafe introduction.read(number, using: loop.input) {
        case .wantsRead: return
        case .ended(let reason): end(reason)
        case .failed(let failure): end(.notIntroduced(failure.description))
        case .complete(let client): listener.introduced(self, as: client)
        }
    }

    /// Goes on with an accepted connection whose client is known. The client's first bytes may have arrived with the
    /// header, and epoll may not report them again.
    func beginIntroduced() {
        guard tls != nil else { return established() }
        phase = .handshaking
        awaitHandshake()
        continueHandshake()
    }

    /// Handles the result of connect(2).
    func finishConnecting() {
        if let error = Socket.pendingError(number) {
            end(.refused(error.text))
            return
        }
        connected()
    }

    /// Starts TLS, or opens the connection if it has none, once the socket is connected.
    func connected() {
        (session as? DialAttempt)?.connected()
        if tls == nil { established() } else { beginHandshake() }
    }

    /// Begins the TLS handshake of a client.
    func beginHandshake() {
        phase = .handshaking
        setDeadline(limits.handshakeMilliseconds)
        continueHandshake()
    }

    func continueHandshake() {
        guard isDeferrable, let pace = loop?.pace else { return shakeHands() }
        let start = EventLoop.read(CLOCK_MONOTONIC)
        shakeHands()
        pace.spend(EventLoop.read(CLOCK_MONOTONIC) - start)
    }

    private func shakeHands() {
        guard let tls, let loop else { preconditionFailure("bug: a handshake without TLS, or a loop") }
        do {
            switch try tls.handshake(using: loop.workspace(of: tls)) {
            case .complete:
                // `opened` may move the connection to another thread, so nothing may follow this call.
                return established()
            case .wantsRead: handshakeAwaits = .readable
            case .wantsWrite: handshakeAwaits = .writable
            }
            updateInterest()
        } catch {
            // Closes in order, because a reset could overtake the alert that tells the peer the reason.
            finish(reason(error))
        }
    }

    private func reason(_ error: TLSFailure) -> CloseReason {
        if error.isNotTLS,
            let preamble = Preamble(afterRecordHead: Socket.peek(number, atMost: Preamble.mostBytes))
        {
            return .notTLS(preamble)
        }
        let isBroken = error.origin == .connection
        return .handshakeFailed(error.description, name: isBroken ? nil : error.name ?? "handshake failure")
    }

    /// Hands the connection to its handler, which may read and write from now on.
    private func established() {
        guard let loop else { return }
        deadline = nil
        phase = .open
        ticket?.handshakeEnded()
        leavePace()
        endDeferring()
        if let tls {
            if listener?.recordsTLSDetails == true { peer.tls = tls.details }
            let agreement = tls.finishHandshake(using: loop.workspace(of: tls))
            peer.negotiatedProtocol = agreement.negotiatedProtocol
            peer.certificate = agreement.certificate
        } else if peer.credentials == nil, peer.address.hasPrefix("unix:") {
            peer = Peer(address: peer.address, credentials: Socket.credentials(number))
        }
        if let listener {
            if handshakeBeganAt > 0 {
                listener.observer?.handshakeEnded(
                    nanoseconds: EventLoop.read(CLOCK_MONOTONIC) - handshakeBeganAt)
            }
            session = listener.makeSession(peer)
            guard session != nil else {
                end(.overloaded)
                return
            }
            listener.connectionOpened()
            self.listener = nil
        }
        let token = token
        session?.opened(on: self)
        guard loop.holds(token) else { return }
        watchSession()
        updateInterest()
        // TLS may have read the first bytes of input with the end of the handshake; epoll does not report those.
        if tls != nil { readInput() }
    }

    /// Counts this handshake in the loop's `HandshakeLimiter`.
    private func beginPace() {
        guard isDeferrable, let pace = loop?.pace else { return }
        isPaced = true
        pace.began()
    }

    /// Removes this handshake from the loop's `HandshakeLimiter`.
    func leavePace() {
        guard isPaced else { return }
        isPaced = false
        loop?.pace?.ended()
    }
}
