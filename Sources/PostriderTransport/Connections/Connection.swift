internal import Glibc

/// One socket, plain or with TLS, and the session that it serves. It belongs to one loop at a time, on
/// whose thread everything happens; `detach()` and `EventLoop.adopt` take it to another.
///
/// An idle connection holds no buffers: input goes through the loop's, and only output that the socket did
/// not take stays here.
public final class Connection: ConnectionOutput {
    enum Phase {
        case connecting
        case handshaking
        case open
        /// The session has closed; what it flushes last is on its way.
        case closing(CloseReason)
        /// The session is gone, our output has ended, and the peer's end is waited for.
        case lingering
        /// On its way to another loop.
        case moving
        case ended
    }

    let limits: ConnectionLimits
    let number: Int32
    var descriptor: Descriptor?
    var tls: (any TLSSession)?
    var session: (any ConnectionHandler)?
    /// Who accepted it, until it has a session.
    var listener: Listener?
    /// Whether it is one of thousands that may connect or end at once: then its handshake and its end are deferred.
    let isDeferrable: Bool
    /// Whether its handshake is one of those that the loop's pace counts.
    var isPaced = false
    /// When it was accepted and its handshake began, in monotonic nanoseconds; 0 where it did not begin with one.
    var handshakeBeganAt: UInt64 = 0
    /// Its place in the counts of the gate that let it in, if there is one.
    var ticket: ConnectionPermit?
    /// The loop that holds it; nil while it is moving and when it has ended.
    var loop: EventLoop?
    var token: EventLoop.Token = 0
    var phase: Phase
    /// Runs for the phase at hand: connecting, handshake, blocked output, lingering.
    var deadline: (any LoopTimer)?
    /// Runs while the peer keeps the session waiting, from one look to the next.
    var watch: (any LoopTimer)?
    /// The turn in which it was read as much as one turn allows.
    var sparedTurn: UInt64 = 0

    /// Output that the socket did not take, from `pendingStart` on.
    var pending: [UInt8] = []
    var pendingStart = 0
    /// What the socket must become before output goes on; empty when none is pending. TLS may have to read
    /// first.
    var outputAwaits: Readiness = []
    /// What the handshake waits for.
    var handshakeAwaits: Readiness
    /// TLS may have to write before it can read.
    var inputAwaitsWritable = false
    var hasInputEnded = false
    var isDirty = false
    var isFlushing = false

    var registeredInterest: Readiness = []
    var isInterestQueued = false

    /// The other end.
    public internal(set) var peer: Peer

    init(
        _ descriptor: consuming Descriptor, _ phase: Phase, on loop: EventLoop, tls: (any TLSSession)?,
        peer: Peer,
        limits: ConnectionLimits, isDeferrable: Bool = false
    ) throws(SystemError) {
        precondition(limits.bytesPerRead >= tls?.leastRoom ?? 0, "a read has room for a record")
        number = descriptor.number
        self.descriptor = consume descriptor
        self.phase = phase
        self.loop = loop
        self.tls = tls
        self.peer = peer
        self.limits = limits
        self.isDeferrable = isDeferrable
        if case .connecting = phase { handshakeAwaits = .writable } else { handshakeAwaits = .readable }
        try watch(on: loop)
    }

    /// Whether output waits for the socket; then the session is not asked to flush.
    public var isBlocked: Bool { !outputAwaits.isEmpty }

    /// Asks for one `flush(into:)` at the end of this turn.
    public func setNeedsFlush() {
        guard !isDirty, !isBlocked, let loop else { return }
        switch phase {
        case .open, .closing:
            isDirty = true
            loop.needsFlush(token)
        case .connecting, .handshaking, .lingering, .moving, .ended: return
        }
    }

    /// Ends the connection in order; see `ConnectionOutput`.
    public func close(_ reason: CloseReason) {
        switch phase {
        case .connecting, .handshaking: end(reason)
        case .open:
            phase = .closing(reason)
            setNeedsFlush()
            updateInterest()
        case .closing, .lingering, .moving, .ended: return
        }
    }

    /// Ends the connection at once; see `ConnectionOutput`.
    public func abort(_ reason: CloseReason) {
        switch phase {
        case .connecting, .handshaking, .open, .closing: end(reason)
        case .lingering, .moving, .ended: return
        }
    }

    /// The socket is ready for something.
    func ready(_ readiness: Readiness) {
        switch phase {
        case .connecting, .handshaking: return hear(readiness)
        case .open, .closing, .lingering, .moving, .ended: break
        }
        guard let loop else { return }
        if loop.isDeferred(number) {
            loop.isVisitOver = true
            endDeferring()
        } else if isDeferrable, case .open = phase,
            !readiness.isDisjoint(with: [.peerEnded, .hangUp, .error])
        {
            // Thousands may be cut at once: they end one by one.
            return loop.beginDeferring(token, readiness)
        }
        hear(readiness)
    }

    private func hear(_ readiness: Readiness) {
        guard let loop else { return }
        let token = token
        switch phase {
        case .connecting: finishConnecting()
        case .handshaking: continueHandshake()
        case .open, .closing:
            let isCut = !readiness.isDisjoint(with: [.hangUp, .error])
            if isBlocked, isCut || !readiness.isDisjoint(with: outputAwaits) { resumeOutput() }
            guard loop.holds(token) else { return }
            if isCut || readiness.contains(.readable) || inputAwaitsWritable { readInput() }
            guard loop.holds(token) else { return }
            if isCut && hasInputEnded { endCut() }
        case .lingering: discardInput()
        case .moving, .ended: return
        }
    }

    /// The loop ends: a word to the peer if the socket takes it, and out.
    func loopStopped() {
        endTLS()
        end(.loopStopped)
    }
}

// MARK: - The end

extension Connection {
    /// Everything has been sent: ends our output, and waits for the peer's end. Closing at once would let
    /// unread input turn into a reset, which can overtake our last words.
    func finish(_ reason: CloseReason) {
        dismiss(reason)
        endTLS()
        Socket.endOutput(number)
        guard limits.lingerMilliseconds > 0, !hasInputEnded else {
            end(reason)
            return
        }
        phase = .lingering
        setDeadline(limits.lingerMilliseconds)
        updateInterest()
    }

    private func endTLS() {
        guard let tls, let loop else { return }
        tls.shutdown(using: loop.workspace(of: tls))
    }

    /// Closes the socket, and has the session told if it does not know yet.
    func end(_ reason: CloseReason) {
        guard let loop else { return }
        dismiss(reason)
        phase = .ended
        deadline = nil
        watch = nil
        loop.unwatch(number)
        loop.connectionCount -= 1
        if let tls { tls.release(using: loop.workspace(of: tls)) }
        tls = nil
        descriptor = nil
        ticket = nil
        pending = []
        outputAwaits = []
        self.loop = nil
    }

    private func endCut() {
        if case .closing(let reason) = phase { end(reason) } else { end(.peerClosed) }
    }

    private func dismiss(_ reason: CloseReason) {
        if let session { loop?.departs(session, reason) }
        session = nil
        leavePace()
        listener?.connectionFailed(reason, peer)
        listener = nil
    }

    func setDeadline(_ milliseconds: Int) {
        let timer = deadline ?? loop?.makeTimer { [unowned self] in deadlinePassed() }
        timer?.arm(afterMilliseconds: milliseconds)
        deadline = timer
    }

    /// Begins to look after the session, if the peer keeps it waiting.
    func watchSession() {
        guard watch == nil, let session, session.isKeptWaiting, case .open = phase else { return }
        watch = loop?.makeTimer { [unowned self] in look() }
        watch?.arm(afterMilliseconds: limits.lookMilliseconds)
    }

    private func look() {
        guard let loop, let session, case .open = phase else { return watch = nil }
        let token = token
        session.look()
        guard loop.holds(token) else { return }
        if session.isKeptWaiting, case .open = phase {
            watch?.arm(afterMilliseconds: limits.lookMilliseconds)
        } else {
            watch = nil
        }
    }

    private func deadlinePassed() {
        switch phase {
        case .connecting: end(.connectTimeout)
        case .handshaking: end(.handshakeTimeout)
        case .open, .closing: end(.writeTimeout)
        case .lingering: end(.localClose)
        case .moving, .ended: return
        }
    }
}
