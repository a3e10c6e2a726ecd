internal import CPostriderLinux
internal import Glibc

/// One thread's event loop: it handles sockets, timers and mailboxes in turns. It is created and used on the thread
/// that runs it; other threads reach it only through a `Mailbox`.
///
/// One turn: poll → read the clocks once → timers → readable sockets → mailboxes → closed connections → `turnEnded` →
/// flush → deferred events, and the last three steps again for them → update epoll interests. So the number of locks
/// and system calls grows with turns and not with work, and deferred handshakes delay no answer.
@safe public final class EventLoop: Scheduler {
    typealias Token = WatchTable.Token

    private static let inputCapacity = 64 * 1024
    /// Large, so that deferred handshakes cannot crowd other events out of one epoll_wait.
    private static let reportsPerTurn = 4096

    var watches: WatchTable
    /// Connections in their handshake, and connections that were cut, whose events are deferred.
    let deferred = DeferredQueue()
    let timers: TimerTable
    var work = TurnWork()
    private(set) var isStopping = false
    private(set) var isInTurn = false

    /// The buffer that every connection of this loop reads into. Its content is valid during one call of `received`.
    let input: UnsafeMutableBufferPointer<UInt8>

    /// The state that the TLS sessions of this loop share; nil until the first session.
    var tlsWorkspace: (any TLSWorkspace)?

    /// Monotonic time in nanoseconds, read once per turn.
    public internal(set) var now: UInt64
    /// Wall-clock time in milliseconds since 1970, read once per turn.
    public internal(set) var wallMilliseconds: Int64
    /// The number of the current turn; the first is 1.
    private(set) var turnNumber: UInt64 = 0
    /// The number of connections that this loop holds, including those that are being established or closed.
    public internal(set) var connectionCount = 0

    /// Limits the handshakes under way at listeners whose `isPaced` is true; nil for no limit. It must be set before
    /// the first turn.
    public var pace: HandshakeLimiter?

    /// How long this loop polls for more events before it sleeps, after a turn that had something to do.
    /// Microseconds; 0 means not at all. Waking a processor takes longer than most turns, above all in a virtual
    /// machine, so polling pays if there is a spare processor for each loop.
    public var busyPollingMicroseconds: Int {
        get { polling.microseconds }
        set { polling.microseconds = newValue }
    }
    var polling = BusyPolling()

    /// The owner of the loop posts the messages here that it collected during the turn. Called before each flush, and
    /// again after a flush that had something to write. A turn flushes after its events, and again after deferred
    /// events, if there were any.
    public var turnEnded: (() -> Void)?

    /// Creates a loop that watches nothing yet.
    public init() throws(TransportError) {
        do {
            watches = try WatchTable(reports: Self.reportsPerTurn)
        } catch {
            throw TransportError("Cannot make an event loop: \(error.text).")
        }
        // TLS libraries write with write(2), which would end the process by SIGPIPE when the peer is gone.
        _ = signal(SIGPIPE, SIG_IGN)
        unsafe input = .allocate(capacity: Self.inputCapacity)
        unsafe input.initialize(repeating: 0)
        now = Self.read(CLOCK_MONOTONIC)
        wallMilliseconds = Int64(Self.read(CLOCK_REALTIME) / 1_000_000)
        timers = TimerTable(now: now)
    }

    deinit { unsafe input.deallocate() }

    /// Runs turns until `stop()` is called. Then every connection is cut, and its handler is told.
    public func run() {
        while !isStopping { turn() }
        for number in 0..<watches.count {
            switch watches.watched(number) {
            case .nothing: break
            case .connection(let connection): connection.loopStopped()
            case .source(let source): source.loopStopped()
            }
        }
        while tellDeparted() {}
    }

    /// Makes `run()` return after this turn. It must be called on this loop's thread.
    public func stop() { isStopping = true }

    /// Makes a timer of this loop, which is not armed yet.
    public func makeTimer(_ fire: @escaping () -> Void) -> any LoopTimer { timers.makeTimer(fire) }

    /// Calls `receive` once a turn with all messages that have arrived, in order. The array's storage is reused, so
    /// `receive` may leave or empty it, and must not replace it.
    public func attach<Message: Sendable>(
        _ mailbox: Mailbox<Message>, _ receive: @escaping (inout [Message]) -> Void
    ) throws(TransportError) {
        let source = MailboxSource(mailbox, on: self, receive)
        do {
            _ = try watch(mailbox.bellNumber, [.readable, .edgeTriggered], .source(source))
        } catch {
            throw TransportError("Cannot watch a mailbox: \(error.text).")
        }
    }
}

// MARK: - A turn

extension EventLoop {
    /// Runs one turn. It waits for events, unless work is left from the last turn.
    func turn() {
        let count = awaitReports()
        isInTurn = true
        turnNumber &+= 1
        readClocks()
        if count > 0 { polling.begin(at: now) }
        timers.advance(to: now)
        readUnread()
        for index in 0..<count { dispatch(watches.poller[index]) }
        deliverMessages()
        settle()
        if !deferred.isEmpty {
            deferred.run(tellDeferred)
            settle()
        }
        applyInterests()
        tlsWorkspace?.turnEnded()
        isInTurn = false
    }

    /// Ends a step of the turn: tells handlers that their connections closed, calls `turnEnded`, and flushes output.
    private func settle() {
        tellDeparted()
        turnEnded?()
        if flushDirty() { turnEnded?() }
    }

    func dispatch(_ event: (token: Token, readiness: Readiness)) {
        guard watches.holds(event.token) else { return }
        if watches.isDeferred(WatchTable.number(event.token)) {
            wait(event.token, event.readiness)
        } else {
            tell(event.token, event.readiness)
        }
    }

    private func tell(_ token: Token, _ readiness: Readiness) {
        switch watches.watched(WatchTable.number(token)) {
        case .nothing: break
        case .connection(let connection): connection.ready(readiness)
        case .source(let source): source.ready(readiness)
        }
    }

    /// Handles the deferred events of a connection; returns false if it is gone.
    private func tellDeferred(_ token: Token) -> Bool {
        guard watches.holds(token) else { return false }
        tell(token, watches.takeHeld(of: token))
        return true
    }

    private func readUnread() {
        for token in work.takeUnread() { watches.connection(token)?.readBuffered() }
    }

    private func deliverMessages() {
        for source in work.takeRung() { source.deliver() }
    }

    /// Returns whether any handler was told.
    @discardableResult
    private func tellDeparted() -> Bool {
        let departed = work.takeDeparted()
        for (session, reason) in departed { session.closed(reason) }
        return !departed.isEmpty
    }

    /// Flushes connections that asked for it. Returns whether any was flushed.
    private func flushDirty() -> Bool {
        var (batch, buffer): ([Token], [UInt8]) = ([], [])
        guard work.beginFlush(&batch, &buffer) else { return false }
        for token in batch { watches.connection(token)?.flush(using: &buffer) }
        work.endFlush(&batch, &buffer)
        return true
    }

    private func applyInterests() {
        work.drainInterests { watches.connection($0)?.applyInterest() }
    }
}

// MARK: - What the loop's own sources ask of it

extension EventLoop {
    /// Watches `number` and returns the token that identifies its events.
    ///
    /// - Parameter isDeferred: whether its events are deferred to the end of the turn.
    func watch(
        _ number: Int32, _ interest: Readiness, _ watched: WatchTable.Watched, isDeferred: Bool = false
    ) throws(SystemError) -> Token {
        try watches.add(number, interest, watched, isDeferred: isDeferred)
    }

    /// Watches `number` for something to read until ``unwatch(_:)``, or for as long as the loop lives, and holds the
    /// source for that time.
    package func watch(_ number: Int32, readableFor source: any EventSource) throws(SystemError) {
        _ = try watch(number, .readable, .source(source))
    }

    /// Stops watching. Events of the descriptor that are not dispatched yet are dropped.
    package func unwatch(_ number: Int32) { watches.remove(number) }

    /// Whether the token's descriptor is still watched for the same object. After a call into a handler the loop may
    /// ask only this, because the connection itself may already belong to another thread.
    func holds(_ token: Token) -> Bool { watches.holds(token) }

    /// Defers an event of a connection.
    private func wait(_ token: Token, _ readiness: Readiness) {
        if watches.hold(readiness, of: token) { deferred.join(token) }
    }

    /// Defers all events of a connection from now on, beginning with this one; epoll reports each event once.
    func beginDeferring(_ token: Token, _ readiness: Readiness) {
        let number = WatchTable.number(token)
        watches.setDeferred(number, true)
        watches.change(Int32(number), [], token)
        wait(token, readiness)
    }
}
