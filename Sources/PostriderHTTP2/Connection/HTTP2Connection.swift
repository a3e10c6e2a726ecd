/// One end of an HTTP/2 connection: bytes in, calls to a handler and bytes out. No I/O and no clock.
///
/// Confined to one thread at a time, with which its connection may move. The owner calls ``receive(_:)`` with what
/// arrived and, once a turn, ``drain(into:)`` for what is to be sent; the verbs in between only take note, and tell the
/// ``FlushScheduler``. When `receive` throws or ``isFinished`` holds after a `drain`, the owner closes the connection
/// (after sending what that drain gave it, which holds the GOAWAY) and calls ``end()``. SETTINGS are the first frame of
/// every connection.
///
/// ``Engine`` carries the frames: nghttp2, or, for a device's link, a few counters.
public final class HTTP2Connection {
    /// Which end of the connection this is.
    public enum Role: Sendable {
        /// Answers requests.
        case server
        /// Makes requests.
        case client
    }

    /// What carries the frames of a connection.
    enum Engine {
        /// nghttp2, with any number of streams.
        case multiplexed(MultiplexedConnection)
        /// One stream of a server, without nghttp2.
        case singleStream(SingleStreamConnection)
    }

    /// Is told when there is something to send. Not retained: it owns the connection.
    public unowned var flushScheduler: (any FlushScheduler)?

    let state: ConnectionState
    private(set) var engine: Engine
    /// Whether the engine is to be a ``SingleStreamConnection`` as soon as it can be.
    private var isToBecomeLean = false
    /// Whether `receive` or `drain` is on the stack: they must not be entered a second time.
    private var isAtWork = false

    /// `drain` stops asking for more of streaming bodies above this many bytes.
    static let drainBytes = 256 * 1024

    /// Makes a connection; its SETTINGS wait in the first `drain`.
    ///
    /// - Parameter handler: is not retained and must outlive the connection: the owner itself, or what it holds.
    public init(role: Role, settings: SessionSettings = SessionSettings(), handler: any SessionHandler) {
        state = ConnectionState(role: role, settings: settings, handler: HandlerReference.to(handler))
        engine = .multiplexed(MultiplexedConnection(state))
    }

    // MARK: Bytes

    /// Takes what arrived and calls the handler for it.
    ///
    /// - Throws: when the connection is over by the peer's fault. Not every violation is known here already, some show
    ///   as ``failure`` and ``isFinished`` after the next `drain`. Later calls throw the same.
    public func receive(_ bytes: Span<UInt8>) throws(SessionError) {
        precondition(!isAtWork, "receive and drain must not be called from a handler")
        if let failure = state.failure { throw failure }
        guard !state.hasEnded else { return }
        isAtWork = true
        switch engine {
        case .multiplexed(let connection): connection.receive(bytes)
        case .singleStream(let connection): connection.receive(bytes)
        }
        isAtWork = false
        guard !state.hasEnded else { return }
        if let failure = state.failure { throw failure }
        if isToBecomeLean { becomeLean() }
    }

    /// Appends everything that may be sent now. The handler learns of closed streams and emptied bodies meanwhile.
    ///
    /// What it sends on emptied bodies leaves in the same call, up to a bound; ``wantsToSend`` tells of the rest.
    public func drain(into output: inout [UInt8]) {
        precondition(!isAtWork, "receive and drain must not be called from a handler")
        isAtWork = true
        switch engine {
        case .multiplexed(let connection): connection.drain(into: &output)
        case .singleStream(let connection): connection.drain(into: &output)
        }
        isAtWork = false
        if isToBecomeLean { becomeLean() }
    }

    /// Whether `drain` would append something.
    public var wantsToSend: Bool {
        if state.isBroken { return false }
        if state.goaway.isWaiting { return true }
        return switch engine {
        case .multiplexed(let connection): connection.hasMore || connection.isShutdownStepDue
        case .singleStream(let connection): connection.hasMore
        }
    }

    /// Whether nothing more will be read or sent: close the connection.
    public var isFinished: Bool { state.isBroken || !(state.failure == nil && wantsToRead) && !wantsToSend }

    private var wantsToRead: Bool {
        switch engine {
        case .multiplexed(let connection): connection.wantsToRead
        case .singleStream(let connection): connection.wantsToRead
        }
    }

    // MARK: The connection

    /// Which end of the connection this is.
    public var role: Role { state.role }
    /// Why the connection failed, if it did: our verdict on the peer or, found out in `drain`, nghttp2's.
    public var failure: SessionError? { state.failure }
    /// Whether more waits for the peer than is kept: cut the connection.
    public var isOverfull: Bool { state.isOverfull }
    /// How many streams are open: had a header block (at a client: a request) and are not closed.
    public var streamCount: Int { state.streams.count }
    /// How many requests the peer has begun to make; trailers count as well.
    public var requestsReceived: Int { state.flood.headerBlocks }

    /// Sends PING (RFC 9113, section 6.7). The handler is told of the acknowledgement.
    public func ping() {
        switch engine {
        case .multiplexed(let connection): connection.ping()
        case .singleStream(let connection): connection.ping()
        }
        scheduleFlush()
    }

    /// Sends GOAWAY (section 6.8): no streams above the last one that the handler was given will be served, so that the
    /// client may safely repeat these, one whose header block has only partly arrived among them. Open ones go on;
    /// ``isFinished`` once they are closed.
    ///
    /// It leaves after everything that was said before, bodies included: aioapns and Pushy drop the connection when
    /// they see it. Left to itself nghttp2 sends it first.
    public func goaway(errorCode: UInt32 = ErrorCode.noError, debug: [UInt8] = []) {
        state.goaway = .waiting(errorCode: errorCode, debug: debug)
        scheduleFlush()
    }

    /// Ends the connection without losing a stream that the peer has begun; see ``GracefulShutdown``. The owner goes on
    /// answering, until ``isFinished``. A peer that does not acknowledge is waited for as long as ``Timeouts`` says.
    ///
    /// - Parameters:
    ///   - debug: the debug data of both GOAWAYs.
    ///   - settles: whether to wait first until the peer has been silent for a round trip. A peer that has a queue of
    ///     its own gets an answer to each request in it.
    public func shutDown(debug: [UInt8], settles: Bool) {
        precondition(role == .server, "a client knows which streams it has begun")
        guard !state.goaway.isWaiting, failure == nil, !state.hasEnded else { return }
        switch engine {
        case .multiplexed(let connection): connection.shutDown(debug: debug, settles: settles)
        // New streams are refused here, so that they can be repeated.
        case .singleStream: goaway(debug: debug)
        }
        scheduleFlush()
    }

    /// Lets the first SETTINGS frame allow the peer this many streams at once, while the connection goes on to take as
    /// many as its settings say: a peer that opened more before it read the frame, or does not care, is served all the
    /// same. ``updateMaxConcurrentStreams(_:)`` tells the peer of the rest.
    ///
    /// nghttp2 could not: it resets every stream above a limit from the moment in which the limit is submitted, and
    /// ends the connection for one above it once the peer has acknowledged it. So it is left to believe that it said
    /// the limit of the settings.
    ///
    /// Only before the first `drain`, and only by a server.
    public func announceStreamLimit(_ count: UInt32) {
        precondition(role == .server, "only a server limits the peer's streams")
        requireMultiplexed().announceStreamLimit(count)
    }

    /// Changes how many streams the peer may have open, from the next `drain` on. Not on a lean link.
    public func updateMaxConcurrentStreams(_ count: UInt32) {
        requireMultiplexed().updateMaxConcurrentStreams(count)
        scheduleFlush()
    }

    /// Takes back what frames without content have cost the peer so far.
    ///
    /// A PING, PRIORITY, WINDOW_UPDATE, SETTINGS, RST_STREAM or empty DATA is work and carries nothing; each frame with
    /// content pays for a hundred. On a connection where nothing but keepalives happens for weeks, the owner, who has a
    /// clock, calls this from time to time.
    public func forgiveEmptyFrames() { state.flood.forgiveEmptyFrames() }

    /// The connection is gone: reports every open stream closed with CANCEL, then nothing any more.
    public func end() {
        guard !state.hasEnded else { return }
        state.hasEnded = true
        while let last = state.streams.all.last { state.close(last, errorCode: ErrorCode.cancel) }
    }

    // MARK: Timeouts

    /// Whether the peer owes something that has its time. Streams whose answers go on, like a device's link, are not
    /// waited for; nor is anything when the connection is over.
    public var isKeptWaiting: Bool {
        guard failure == nil, !state.hasEnded else { return false }
        if state.deadlines.isOwed(state.flood) { return true }
        if case .multiplexed(let connection) = engine, connection.isShuttingDown { return true }
        return role == .server && state.streams.hasAwaited
    }

    /// About a second has gone by: the owner calls this for as long as ``isKeptWaiting``. Streams on which the peer has
    /// kept us waiting for too long (the body of a request that does not end, an answer that its window does not let
    /// out) are reset.
    ///
    /// - Returns: what the connection itself is kept waiting for longer than `timeouts` allow.
    public func tick(_ timeouts: Timeouts) -> AwaitedAction? {
        let overdue = state.deadlines.tick(state.flood, timeouts)
        for stream in state.takeStalledStreams(timeouts) {
            switch engine {
            case .multiplexed(let connection): connection.outbound.cancel(stream)
            case .singleStream(let connection): connection.reset(stream, errorCode: ErrorCode.cancel)
            }
        }
        if case .multiplexed(let connection) = engine { connection.tick(timeouts) }
        return overdue
    }

    // MARK: Leaving nghttp2

    /// Whether the connection has let go of nghttp2.
    public var isLean: Bool { if case .singleStream = engine { true } else { false } }

    /// Lets go of nghttp2, for good, as soon as nothing is under way but one answer that goes on. That is looked for
    /// whenever something was received or sent.
    ///
    /// From then on other streams that the peer begins are refused. The table of what the peer sends is forgotten with
    /// nghttp2, for no header block is decoded any more.
    public func becomeLeanWhenQuiet() { isToBecomeLean = true }

    /// Lets go of nghttp2 if that can be done now. Not to be called by a handler.
    @discardableResult
    func becomeLean() -> Bool {
        guard case .multiplexed(let connection) = engine else { return true }
        guard !isAtWork, let link = connection.makeSingleStreamState() else { return false }
        engine = .singleStream(SingleStreamConnection(state, from: link))
        isToBecomeLean = false
        state.streams.releaseSpareRecords()
        state.deadlines.releaseMemory()
        return true
    }

    private var multiplexed: MultiplexedConnection? {
        if case .multiplexed(let connection) = engine { connection } else { nil }
    }

    /// The verbs of streams over nghttp2; nil on a lean link, whose one stream has its answer already.
    var outbound: OutboundStreams? { multiplexed?.outbound }

    private func requireMultiplexed() -> MultiplexedConnection {
        guard let multiplexed else { preconditionFailure("a lean link keeps its settings") }
        return multiplexed
    }

    /// There is something to send. While the engine is at work, the owner looks at ``wantsToSend`` afterwards.
    func scheduleFlush() {
        if !isAtWork { flushScheduler?.setNeedsFlush() }
    }
}
