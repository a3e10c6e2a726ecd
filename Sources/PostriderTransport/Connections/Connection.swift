/// One socket, with or without TLS, and the protocol handler that it serves. A connection belongs to one loop at a
/// time and is used only on that loop's thread; `detach()` and `EventLoop.adopt` move it to another loop.
///
/// An idle connection holds no buffers: it reads into the loop's buffer, and keeps only output that the socket did
/// not take.
public final class Connection: ConnectionOutput {
    enum Phase {
        case opening(ConnectionOpening)
        case open
        /// The handler has closed the connection, and its last output is being written.
        case closing(CloseReason)
        /// The handler is gone, this side has ended its output, and the connection waits for the peer's end of input.
        case lingering
        /// The connection is moving to another loop.
        case moving
        case ended
    }

    /// What holds reading back.
    struct Reading {
        /// Whether TLS has to write before it can read.
        var awaitsWritable = false
        var hasEnded = false
        /// Whether the handler wants no input at the moment.
        var isHeld = false
        /// The last turn in which the connection read as much as one turn allows.
        var sparedTurn: UInt64 = 0
    }

    /// What is to be written.
    struct Writing {
        /// Output that the socket did not take. Bytes before `start` are written already.
        var pending: [UInt8] = []
        var start = 0
        /// The readiness that blocked output waits for; empty if no output is blocked. TLS may have to read before it
        /// can write.
        var awaits: Readiness = []
        /// Whether the handler has asked for a flush, and whether it is being flushed.
        var isDirty = false
        var isFlushing = false

        /// Keeps what the socket did not take.
        mutating func block(_ rest: ArraySlice<UInt8>, _ readiness: Readiness) {
            (pending, start, awaits) = (Array(rest), 0, readiness)
        }

        /// Everything is written.
        mutating func unblock() { (pending, start, awaits) = ([], 0, []) }
    }

    let limits: ConnectionLimits
    var stream: ConnectionStream
    var session: (any ConnectionHandler)?
    /// Whether the loop defers the handshake and the end of this connection, because thousands may connect or end at
    /// once.
    let isDeferrable: Bool
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
    var reading = Reading()
    var writing = Writing()
    /// The events that the poller reports.
    var polled = PolledInterest()

    /// The other end of the connection.
    public internal(set) var peer: Peer

    init(
        _ descriptor: consuming Descriptor, _ opening: ConnectionOpening, on loop: EventLoop,
        tls: (any TLSSession)?, peer: Peer, limits: ConnectionLimits, isDeferrable: Bool = false
    ) throws(SystemError) {
        precondition(limits.bytesPerRead >= tls?.leastRoom ?? 0, "a read has room for a record")
        stream = ConnectionStream(consume descriptor, tls)
        phase = .opening(opening)
        self.loop = loop
        self.peer = peer
        self.limits = limits
        self.isDeferrable = isDeferrable
        try watch(on: loop)
    }

    /// The number of the socket's descriptor.
    var number: Int32 { stream.number }

    /// Whether output waits for the socket. Until it is written, the handler is not asked for more.
    public var isBlocked: Bool { !writing.awaits.isEmpty }

    /// Asks for one call of `flush(into:)` at the end of this turn.
    public func setNeedsFlush() {
        guard !writing.isDirty, !isBlocked, let loop else { return }
        switch phase {
        case .open, .closing:
            writing.isDirty = true
            loop.work.add(dirty: token)
        case .opening, .lingering, .moving, .ended: return
        }
    }

    /// Closes the connection in order; see `ConnectionOutput`.
    public func close(_ reason: CloseReason) {
        switch phase {
        case .opening: end(reason)
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
        case .opening, .open, .closing: end(reason)
        case .lingering, .moving, .ended: return
        }
    }

    /// Hands the connection to its handler, which may read and write from now on.
    func established() {
        guard let loop, case .opening(let opening) = phase else { return }
        deadline = nil
        phase = .open
        endDeferring()
        guard opening.succeed(self, on: loop) else { return end(.overloaded) }
        let token = token
        session?.opened(on: self)
        guard loop.holds(token) else { return }
        watchSession()
        updateInterest()
        // TLS may have read the first bytes of input with the end of the handshake; epoll does not report those.
        if stream.tls != nil { readInput() }
    }

    /// Starts TLS on a connection that was without TLS so far, and replaces its handler. The new handler gets the
    /// outcome as if it had connected itself. This must be the last call in `received` of the old handler.
    func startTLS(
        _ tls: (context: any TLSProvider, serverName: String), for handler: any ConnectionHandler
    ) {
        precondition(!isBlocked && !writing.isDirty, "bug: TLS begins in the middle of something")
        session = handler
        do throws(TLSFailure) {
            let session = try tls.context.connect(number, serverName: tls.serverName)
            precondition(limits.bytesPerRead >= session.leastRoom, "a read has room for a record")
            stream.begin(session)
        } catch {
            return end(.handshakeFailed(error.description))
        }
        watch = nil
        let opening = ConnectionOpening(.handshaking)
        phase = .opening(opening)
        opening.beginHandshake(self)
    }

    /// Handles the readiness of the socket.
    func ready(_ readiness: Readiness) {
        if case .opening = phase { return hear(readiness) }
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
        case .opening(let opening): opening.proceed(self)
        case .open, .closing:
            let isCut = !readiness.isDisjoint(with: [.hangUp, .error])
            if isBlocked, isCut || !readiness.isDisjoint(with: writing.awaits) { resumeOutput() }
            guard loop.holds(token) else { return }
            if isCut || readiness.contains(.readable) || reading.awaitsWritable { readInput() }
            guard loop.holds(token) else { return }
            if isCut && reading.hasEnded { endCut() }
        case .lingering: discardInput()
        case .moving, .ended: return
        }
    }

    /// Ends the connection because the loop ends: writes the last output if the socket takes it, then closes.
    func loopStopped() {
        if let loop { stream.endTLS(on: loop) }
        end(.loopStopped)
    }
}

// MARK: - The end

extension Connection {
    /// Ends our output after everything has been sent, and waits for the peer's end of input. Closing the socket at
    /// once with unread input would send a reset, which can overtake our last output.
    func finish(_ reason: CloseReason) {
        dismiss(reason)
        if let loop { stream.endTLS(on: loop) }
        Socket.endOutput(number)
        guard limits.lingerMilliseconds > 0, !reading.hasEnded else {
            end(reason)
            return
        }
        phase = .lingering
        setDeadline(limits.lingerMilliseconds)
        updateInterest()
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
        stream.leave(loop)
        stream.close()
        ticket = nil
        writing.unblock()
        self.loop = nil
    }

    private func endCut() {
        if case .closing(let reason) = phase { end(reason) } else { end(.peerClosed) }
    }

    private func dismiss(_ reason: CloseReason) {
        if let session { loop?.work.add(departed: session, reason) }
        session = nil
        if case .opening(let opening) = phase { opening.fail(reason, self) }
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
        case .opening(let opening): end(opening.timeout)
        case .open, .closing: end(.writeTimeout)
        case .lingering: end(.localClose)
        case .moving, .ended: return
        }
    }
}
