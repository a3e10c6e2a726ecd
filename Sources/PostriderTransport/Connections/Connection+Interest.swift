/// What the poller is asked to watch for.
extension Connection {
    /// Starts to be watched by `loop`.
    func watch(on loop: EventLoop) throws(SystemError) {
        registeredInterest = interest
        token = try loop.watch(number, registeredInterest, .connection(self), isDeferred: isDeferred)
        loop.connectionCount += 1
    }

    private var isDeferred: Bool {
        switch phase {
        case .connecting, .handshaking: isDeferrable
        case .open, .closing, .lingering, .moving, .ended: false
        }
    }

    /// Is heard at once again, of everything that it is watched for from the end of this turn on.
    func endDeferring() {
        guard let loop, loop.isDeferred(number) else { return }
        loop.endDeferring(number)
        registeredInterest = []
        updateInterest()
    }

    /// Whether a peer that does not listen is not listened to.
    var isReadingPaused: Bool {
        switch limits.whileBlocked {
        case .pausesReading: outputAwaits == .writable
        case .keepsReading: false
        }
    }

    private var interest: Readiness {
        switch phase {
        case .connecting, .handshaking: return handshakeAwaits
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

    /// Notes that another interest may be due; the poller is told once a turn, and only of what is new.
    func updateInterest() {
        guard !isInterestQueued, interest != registeredInterest, let loop else { return }
        isInterestQueued = true
        loop.interestChanged(token)
    }

    func applyInterest() {
        isInterestQueued = false
        let interest = interest
        guard interest != registeredInterest else { return }
        registeredInterest = interest
        loop?.change(number, interest, token)
    }
}
