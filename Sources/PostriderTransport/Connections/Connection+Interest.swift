/// The events that the poller reports of a connection.
struct PolledInterest {
    var events: Readiness = []
    /// Whether a change waits for the end of the turn.
    var isQueued = false
}

/// The readiness events that a connection asks the poller for.
extension Connection {
    /// Registers the connection with the poller of `loop`.
    func watch(on loop: EventLoop) throws(SystemError) {
        polled.events = interest
        token = try loop.watch(number, polled.events, .connection(self), isDeferred: isOpeningDeferred)
        loop.connectionCount += 1
    }

    private var isOpeningDeferred: Bool {
        if case .opening = phase { isDeferrable } else { false }
    }

    /// Stops deferring this connection's events. They are handled at once from the end of this turn on.
    func endDeferring() {
        guard let loop, loop.watches.isDeferred(Int(number)) else { return }
        loop.watches.setDeferred(Int(number), false)
        polled.events = []
        updateInterest()
    }

    /// Whether reading is paused because the handler wants that, or because the peer does not take our output.
    var isReadingPaused: Bool {
        if reading.isHeld { return true }
        return switch limits.whileBlocked {
        case .pausesReading: writing.awaits == .writable
        case .keepsReading: false
        }
    }

    private var interest: Readiness {
        switch phase {
        case .opening(let opening): return opening.awaits
        case .lingering: return .readable
        case .moving, .ended: return []
        case .open, .closing:
            var interest = writing.awaits
            if reading.awaitsWritable { interest.insert(.writable) }
            if !reading.hasEnded && !isReadingPaused {
                interest.insert(isDeferrable ? [.readable, .peerEnded] : .readable)
            }
            return interest
        }
    }

    /// Marks the interest as possibly changed. The poller is updated once a turn, and only if the interest differs.
    func updateInterest() {
        guard !polled.isQueued, interest != polled.events, let loop else { return }
        polled.isQueued = true
        loop.work.add(interestChanged: token)
    }

    func applyInterest() {
        polled.isQueued = false
        let interest = interest
        guard interest != polled.events else { return }
        polled.events = interest
        loop?.watches.change(number, interest, token)
    }
}
