internal import Glibc
internal import PostriderProxies

/// One socket, with or without TLS, and the protocol handler that it serves. A connection belongs to one loop at a
/// time and is used only on that loop's thread; `detach()` and `EventLoop.adopt` move it to another loop.
///
/// An idle connection holds no buffers: it reads into the loop's buffer, and keeps only output that the socket did
/// not take.
public final class Connection: ConnectionOutput {
    enum Phase {
        case connecting
        /// A load balancer has connected and says whose connection it is.
        case introducing(Introduction)
        case handshaking
        case open
        /// The handler has closed the connection, and its last output is being written.
        case closing(CloseReason)
        /// The handler is gone, this side has ended its output, and the connection waits for the peer's end of input.
        case lingering
        /// The connection is moving to another loop.
        case moving
        case ended
    }

    let limits: ConnectionLimits
    let number: Int32
    var descriptor: Descriptor?
    var tls: (any TLSSession)?
    var session: (any ConnectionHandler)?
    /// The listener that accepted the connection; nil for a connection that this side opened, and once it has a
    /// handler.
    var listener: Listener?
    /// Whether the loop defers the handshake and the end of this connection, because thousands may connect or end at
    /// once.
    let isDeferrable: Bool
    /// Whether the loop's `HandshakeLimiter` counts the handshake of this connection.
    var isPaced = false
    /// When the connection was accepted and its handshake began, in monotonic nanoseconds; 0 if it has no handshake.
    var handshakeBeganAt: UInt64 = 0
    /// The connection's entry in the counts of the `ConnectionLimiter` that admitted it; nil if there is no limiter.
    var ticket: ConnectionPermit?
    /// The loop that holds the connection; nil while it moves and after it has ended.
    var loop: EventLoop?
    var token: EventLoop.Token = 0
    var phase: Phase
    /// The deadline of the current phase: connecting, handshake, blocked output, lingering.
    var deadline: (any LoopTimer)?
    /// Calls the handler's `look()` repeatedly while the peer keeps the handler waiting.
    var watch: (any LoopTimer)?
    /// The last turn in which the connection read as much as one turn allows.
    var sparedTurn: UInt64 = 0

    /// Output that the socket did not take. Bytes before `pendingStart` are written already.
    var pending: [UInt8] = []
    var pendingStart = 0
    /// The readiness that blocked output waits for; empty if no output is blocked. TLS may have to read before it can
    /// write.
    var outputAwaits: Readiness = []
    /// The readiness that the handshake waits for.
    var handshakeAwaits: Readiness
    /// Whether TLS has to write before it can read.
    var inputAwaitsWritable = false
    var hasInputEnded = false
    /// Whether the handler wants no input at the moment.
    var isReadingHeld = false
    var isDirty = false
    var isFlushing = false

    var registeredInterest: Readiness = []
    var isInterestQueued = false

    /// The other end of the connection.
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

    /// Whether output waits for the socket. Until it is written, the handler is not asked for more.
    public var isBlocked: Bool { !outputAwaits.isEmpty }

    /// Asks for one call of `flush(into:)` at the end of this turn.
    public func setNeedsFlush() {
        guard !isDirty, !isBlocked, let loop else { return }
        switch phase {
        case .open, .closing:
            isDirty = true
            loop.work.add(dirty: token)
        case .connecting, .introducing, .handshaking, .lingering, .moving, .ended: return
        }
    }

    /// Closes the connection in order; see `ConnectionOutput`.
    public func close(_ reason: CloseReason) {
        switch phase {
        case .connecting, .introducing, .handshaking: end(reason)
        case .open:
            phase = .closing(reason)
            setNeedsFlush()
            updateInterest()
        case .closing, .lingering, .moving, .ended: return
        }
    }

    /// Closes the connection at once; see `ConnectionOutput`.
    public func abort(_ reason: CloseReason) {
        switch phase {
        case .connecting, .introducing, .handshaking, .open, .closing: end(reason)
        case .lingering, .moving, .ended: return
        }
    }

    /// Handles the readiness of the socket.
    func ready(_ readiness: Readiness) {
        switch phase {
        case .connecting, .introducing, .handshaking: return hear(readiness)
        case .open, .closing, .lingering, .moving, .ended: break
        }
        guard let loop else { return }
        if loop.watches.isDeferred(Int(number)) {
            loop.deferred.endRun()
            endDeferring()
        } else if isDeferrable, case .open = phase,
            !readiness.isDisjoint(with: [.peerEnded, .hangUp, .error])
        {
            // Thousands of connections may be cut at once, so their ends are deferred and handled one by one.
            return loop.beginDeferring(token, readiness)
        }
        hear(readiness)
    }

    private func hear(_ readiness: Readiness) {
        guard let loop else { return }
        let token = token
        switch phase {
        case .connecting: finishConnecting()
        case .introducing(let introduction): readIntroduction(introduction)
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

    /// Ends the connection because the loop ends: writes the last output if the socket takes it, then closes.
    func loopStopped() {
        endTLS()
        end(.loopStopped)
    }
}

// MARK: - The end

extension Connection {
    /// Ends our output after everything has been sent, and waits for the peer's end of input. Closing the socket at
    /// once with unread input would send a reset, which can overtake our last output.
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

    /// Closes the socket, and tells the handler unless it knows already.
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
        if let session { loop?.work.add(departed: session, reason) }
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

    /// Starts the timer that calls the handler's `look()`, if the peer keeps the handler waiting.
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
        case .introducing: end(.notIntroduced(ProxyHeaderFailure.late.description))
        case .handshaking: end(.handshakeTimeout)
        case .open, .closing: end(.writeTimeout)
        case .lingering: end(.localClose)
        case .moving, .ended: return
        }
    }
}
