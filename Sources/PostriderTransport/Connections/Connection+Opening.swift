internal import Glibc

/// From a socket to an established connection.
extension Connection {
    /// An accepted socket begins.
    func begin(for listener: Listener) {
        self.listener = listener
        guard tls == nil else {
            beginPace()
            handshakeBeganAt = EventLoop.read(CLOCK_MONOTONIC)
            setDeadline(limits.handshakeMilliseconds)
            return
        }
        established()
    }

    /// The outcome of a connect is there.
    func finishConnecting() {
        if let error = Socket.pendingError(number) {
            end(.refused(error.text))
            return
        }
        connected()
    }

    /// The socket is connected; TLS comes next.
    func connected() {
        (session as? DialAttempt)?.connected()
        guard tls == nil else {
            phase = .handshaking
            setDeadline(limits.handshakeMilliseconds)
            continueHandshake()
            return
        }
        established()
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
                // From here on it may belong to another thread.
                return established()
            case .wantsRead: handshakeAwaits = .readable
            case .wantsWrite: handshakeAwaits = .writable
            }
            updateInterest()
        } catch {
            // The alert that says why is on its way, and must not be overtaken by a reset.
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

    /// The first moment at which the protocol may speak.
    private func established() {
        guard let loop else { return }
        deadline = nil
        phase = .open
        ticket?.handshakeEnded()
        leavePace()
        endDeferring()
        if let tls {
            let agreement = tls.finishHandshake(using: loop.workspace(of: tls))
            peer.negotiatedProtocol = agreement.negotiatedProtocol
            peer.certificate = agreement.certificate
        } else if peer.credentials == nil, peer.address.hasPrefix("unix:") {
            peer = Peer(address: peer.address, credentials: Socket.credentials(number))
        }
        if let listener {
            if handshakeBeganAt > 0 {
                listener.onHandshake?(EventLoop.read(CLOCK_MONOTONIC) - handshakeBeganAt)
            }
            session = listener.makeSession(peer)
            guard session != nil else {
                end(.overloaded)
                return
            }
            self.listener = nil
        }
        let token = token
        session?.opened(on: self)
        guard loop.holds(token) else { return }
        watchSession()
        updateInterest()
        // What came with the end of the handshake may be in TLS already, where the poller does not see it.
        if tls != nil { readInput() }
    }

    /// The handshake begins to count.
    private func beginPace() {
        guard isDeferrable, let pace = loop?.pace else { return }
        isPaced = true
        pace.began()
    }

    /// The handshake is over.
    func leavePace() {
        guard isPaced else { return }
        isPaced = false
        loop?.pace?.ended()
    }
}
