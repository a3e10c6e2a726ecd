/// One end of an HTTP/2 connection: it turns bytes into calls of a handler, and calls into bytes. It does no I/O and
/// reads no clock.
///
/// Confined to one thread at a time; it may move to another thread together with its socket. The owner calls
/// ``receive(_:)`` with bytes that arrived and, once in each turn of its event loop, ``drain(into:)`` to get the bytes
/// to send. All other methods only queue output, and tell the ``FlushScheduler`` that there is some. When `receive`
/// throws, or ``isFinished`` holds after a `drain`, the owner sends what that `drain` returned (it holds the GOAWAY),
/// closes the connection and calls ``end()``. SETTINGS are the first frame of every connection.
///
/// An ``Engine`` reads and writes the frames: nghttp2 or, for the connection of a device, which has one stream, a small
/// engine of our own.
public final class HTTP2Connection {
    /// Which end of the connection this is.
    public enum Role: Sendable {
        /// Answers requests.
        case server
        /// Makes requests.
        case client
    }

    /// Reads and writes the frames of a connection.
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
    /// Whether `receive` or `drain` is on the stack: neither may be called inside the other.
    private var isAtWork = false

    /// `drain` takes no more of streaming bodies above this many bytes.
    static let drainBytes = 256 * 1024

    /// Makes a connection; its SETTINGS wait in the first `drain`.
    ///
    /// - Parameter handler: is not retained and must outlive the connection: the owner itself, or what it holds.
    public init(role: Role, settings: SessionSettings = SessionSettings(), handler: any SessionHandler) {
        state = ConnectionState(role: role, settings: settings, handler: HandlerReference.to(handler))
        engine = .multiplexed(MultiplexedConnection(state))
    }

    // MARK: Bytes

    /// Takes bytes that arrived and calls the handler for them.
    ///
    /// - Throws: when the peer's fault has ended the connection. Some violations are found only in the next `drain`:
    ///   see ``failure`` and ``isFinished``. Later calls throw the same error.
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

    /// Appends everything that may be sent now. Meanwhile the handler learns of closed streams and emptied bodies.
    ///
    /// Bytes that it sends when a body is emptied are appended in the same call, up to a bound; ``wantsToSend`` says
    /// whether there are more.
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
    /// Why the connection failed, if it did: a fault of the peer that we found, or an error of nghttp2 in `drain`.
    public var failure: SessionError? { state.failure }
    /// Whether more bytes wait for the peer than a connection may hold: the owner cuts the connection.
    public var isOverfull: Bool { state.isOverfull }
    /// How many streams are open. A stream is open from its header block (at a client: from the request) until it is
    /// closed.
    public var streamCount: Int { state.streams.count }
    /// How many header blocks the peer has begun, trailers included.
    public var requestsReceived: Int { state.flood.headerBlocks }

    /// Sends PING (RFC 9113, section 6.7). The handler is told of the acknowledgement.
    public func ping() {
        switch engine {
        case .multiplexed(let connection): connection.ping()
        case .singleStream(let connection): connection.ping()
        }
        scheduleFlush()
    }

    /// Sends GOAWAY (section 6.8) with the last stream that the handler was given, so that the client may safely repeat
    /// the requests above it, including one whose header block has arrived only in part. Open streams go on;
    /// ``isFinished`` once they are closed.
    ///
    /// It is sent after all frames and bodies that were queued before it, because aioapns and Pushy drop the connection
    /// when they read a GOAWAY. nghttp2 alone would send it first.
    ///
    /// - Parameter lastStream: the last stream that was served, if that is an earlier one. Later streams are closed
    ///   without an answer, with REFUSED_STREAM.
    public func goaway(
        errorCode: UInt32 = ErrorCode.noError, debug: [UInt8] = [], lastStream: Int32 = .max
    ) {
        state.goaway = .waiting(errorCode: errorCode, debug: debug, lastStream: lastStream)
        scheduleFlush()
    }

    /// Ends the connection without losing a stream that the peer has begun; see ``GracefulShutdown``. The owner goes on
    /// answering until ``isFinished``. ``Timeouts`` bound the wait for a peer that does not acknowledge.
    ///
    /// - Parameters:
    ///   - debug: the debug data of both GOAWAYs.
    ///   - settles: whether to wait first for a round trip in which the peer begins no stream, so that requests in a
    ///     client's own queue get an answer too.
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

    /// Makes the first SETTINGS frame announce this many streams, while the connection accepts as many as its settings
    /// say. So it serves a peer that opened more streams before it read the frame, or ignores it.
    /// ``updateMaxConcurrentStreams(_:)`` announces the full number later.
    ///
    /// nghttp2 cannot do that: it resets every stream above a limit as soon as the limit is submitted, and ends the
    /// connection for one above it once the peer has acknowledged. So nghttp2 is given the limit of the settings, and
    /// the number in its frame is overwritten.
    ///
    /// Only before the first `drain`, and only by a server.
    public func announceStreamLimit(_ count: UInt32) {
        precondition(role == .server, "only a server limits the peer's streams")
        requireMultiplexed().announceStreamLimit(count)
    }

    /// Changes how many streams the peer may have open, from the next `drain` on. Not on a lean link.
    public func updateMaxConcurrentStreams(_ count: UInt32) { update([(.maxConcurrentStreams, count)]) }

    /// Sends SETTINGS with these values (section 6.5.2), from the next `drain` on. Not on a lean link.
    ///
    /// - Parameter values: as RFC 9113, section 6.5.2, allows them, and for the HPACK table at most the initial size.
    public func update(_ values: [(ConnectionSetting, UInt32)]) {
        requireMultiplexed().update(values)
        scheduleFlush()
    }

    /// Sends SETTINGS with the values with which the connection began. Not on a lean link.
    public func restore(_ settings: [ConnectionSetting]) {
        update(settings.map { ($0, state.settings.value(of: $0)) })
    }

    /// Resets the peer's count of frames without content.
    ///
    /// Each PING, PRIORITY, WINDOW_UPDATE, SETTINGS, RST_STREAM and empty DATA counts; a frame with content takes a
    /// hundred off the count. A link may carry only keepalives for weeks, so its owner, which has a clock, calls this
    /// from time to time.
    public func forgiveEmptyFrames() { state.flood.forgiveEmptyFrames() }

    /// The connection is gone: reports every open stream as closed with CANCEL, and calls the handler no more.
    public func end() {
        guard !state.hasEnded else { return }
        state.hasEnded = true
        while let last = state.streams.all.last { state.close(last, errorCode: ErrorCode.cancel) }
    }

    // MARK: Timeouts

    /// Whether a deadline of the peer is running. None is for streams whose answers go on, such as a device's link, nor
    /// after the connection has ended.
    public var isKeptWaiting: Bool {
        guard failure == nil, !state.hasEnded else { return false }
        if state.deadlines.isOwed(state.flood) { return true }
        if case .multiplexed(let connection) = engine, connection.isShuttingDown { return true }
        return role == .server && state.streams.hasAwaited
    }

    /// Counts another second; the owner calls this while ``isKeptWaiting``. Resets streams on which the peer has
    /// exceeded its time: the body of a request does not end, or its window does not let an answer out.
    ///
    /// - Returns: the deadline of the connection itself that has passed, if any.
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

    /// Whether the connection has given up nghttp2 for a ``SingleStreamConnection``.
    public var isLean: Bool { if case .singleStream = engine { true } else { false } }

    /// Gives up nghttp2, for good, as soon as the only thing under way is one answer that goes on. The condition is
    /// checked after each `receive` and `drain`.
    ///
    /// From then on, streams that the peer begins are refused. The HPACK table for received blocks goes with nghttp2,
    /// since no header block is decoded any more.
    public func becomeLeanWhenQuiet() { isToBecomeLean = true }

    /// Gives up nghttp2 if that is possible now. A handler must not call this.
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

    /// Requests and responses over nghttp2; nil on a lean link, whose one stream has begun its answer already.
    var outbound: OutboundStreams? { multiplexed?.outbound }

    private func requireMultiplexed() -> MultiplexedConnection {
        guard let multiplexed else { preconditionFailure("a lean link keeps its settings") }
        return multiplexed
    }

    /// Asks the owner to call `drain`. During `receive` and `drain` it does not: the owner looks at ``wantsToSend``
    /// afterwards.
    func scheduleFlush() {
        if !isAtWork { flushScheduler?.setNeedsFlush() }
    }
}
