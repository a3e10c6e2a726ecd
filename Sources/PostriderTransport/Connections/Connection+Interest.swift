/// The readiness events that a connection asks the poller for.
extension Connection {
    /// Registers the connection with the poller of `loop`.
    func watch(on loop: EventLoop) throws(SystemError) {
        registeredInterest = interest
        token = try loop.watch(number, registeredInterest, .connection(self), isDeferred: isDeferred)
        loop.connectionCount += 1
    }

    private var isDeferred: Bool {
        switch phase {
        case .connecting, .introducing, .handshaking: isDeferrable
        case .open, .closing, .lingering, .moving, .ended: false
        }
    }

    /// Stops deferring this connection's events. They are handled at once from the end of this turn on.
    func endDeferring() {
        guard let loop, loop.watches.isDeferred(Int(number)) else { return }
        loop.watches.setDeferred(Int(number), false)
        registeredInterest = []
        updateInterest()
    }

    /// Whether reading is paused because the handler wants that, or because the peer does not take our output.
    var isReadingPaused: Bool {
        if isReadingHeld { return true }
        return switch limits.whileBlocked {
        case .pausesReading: outputAwaits == .writable
        case .keepsReading: false
        }
    }

    private var interest: Readiness {
        switch phase {
        case .connecting, .introducing, .handshaking: return handshakeAwaits
        case .lingering: return .readable
        case .moving, .ended: return []
        case .open, .closing:
            var interest = outputAwaits
            if inputAwaitsWritable { interest.insert(.writable) }
            if !hasInputEnded && !isReadingPaused {
                interest.insert(isDeferrable ? [.readable, .peerEnded] : .readable)
            }
            return interest
        }
    }

    /// Marks the interest as possibly changed. The poller is updated once a turn, and only if the interest differs.
    func updateInterest() {
        guard !isInterestQueued, interest != registeredInterest, let loop else { return }
        isInterestQueued = true
        loop.work.add(interestChanged: token)
    }

    func applyInterest() {
        isInterestQueued = false
        let interest = interest
        guard interest != registeredInterest else { return }
        registeredInterest = interest
        loop?.watches.change(number, interest, token)
    }
}
