internal import CPostriderLinux
internal import Glibc

/// One thread's event loop: it handles sockets, timers and mailboxes in turns. It is created and used on the thread
/// that runs it; other threads reach it only through a `Mailbox`.
///
/// One turn: poll → read the clocks once → timers → readable sockets → mailboxes → closed connections → `turnEnded` →
/// flush → deferred events, and the last three steps again for them → update epoll interests. So the number of locks
/// and system calls grows with turns and not with work, and deferred handshakes delay no answer.
@safe public final class EventLoop: Scheduler {
    /// The entry of one descriptor number. The generation distinguishes a late event of a closed descriptor from an
    /// event of the descriptor that got its number.
    struct Slot {
        var generation: UInt32 = 0
        var watched: Watched = .nothing
        /// Whether the events of the descriptor are deferred.
        var isDeferred = false
        /// The deferred events of the descriptor; empty if there are none.
        var awaited: Readiness = []

        /// The events to request from epoll. A deferred connection is reported once instead of in each turn, so that
        /// thousands of them cost nothing. A listener is reported in each turn, because it accepts one connection at
        /// a time.
        func asked(_ interest: Readiness) -> Readiness {
            guard isDeferred, case .connection = watched else { return interest }
            return interest.union(.edgeTriggered)
        }

        /// Marks the number as unused.
        mutating func clear() {
            watched = .nothing
            isDeferred = false
            awaited = []
            generation &+= 1
        }
    }

    /// The object that handles a descriptor's events. Connections are called without a protocol witness, because
    /// there are many.
    enum Watched {
        case nothing
        case connection(Connection)
        case source(any EventSource)
    }

    /// Generation and number of a descriptor. Lists that are kept during a turn hold tokens and not connections,
    /// because a connection may be closed or belong to another thread before the list is worked through.
    typealias Token = UInt64

    private static let inputCapacity = 64 * 1024
    /// Large, so that deferred handshakes cannot crowd other events out of one epoll_wait.
    private static let reportsPerTurn = 4096
    /// An output buffer that grew beyond this many bytes is released.
    private static let keptOutputCapacity = 1024 * 1024

    let poller: Poller
    /// Connections in their handshake, and connections that were cut, whose events are deferred.
    var deferred = DeferredQueue()
    /// Whether no further deferred event is handled in this turn.
    var isVisitOver = false
    var slots: [Slot] = []
    let timers: TimerTable
    var isStopping = false
    var isInTurn = false

    private var rung: [any MessageSource] = []
    var unread: [Token] = []
    var departed: [(session: any ConnectionHandler, reason: CloseReason)] = []
    var dirty: [Token] = []
    var interestChanged: [Token] = []
    private var spareTokens: [Token] = []
    private var output: [UInt8] = []

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
    public var busyPollingMicroseconds = 0
    /// When polling ends, in monotonic nanoseconds.
    var pollingEnds: UInt64 = 0

    /// The owner of the loop posts the messages here that it collected during the turn. Called before each flush, and
    /// again after a flush that had something to write. A turn flushes after its events, and again after deferred
    /// events, if there were any.
    public var turnEnded: (() -> Void)?

    /// Creates a loop that watches nothing yet.
    public init() throws(TransportError) {
        do {
            poller = try Poller(capacity: Self.reportsPerTurn)
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
        for index in slots.indices {
            switch slots[index].watched {
            case .nothing: break
            case .connection(let connection): connection.loopStopped()
            case .source(let source): source.loopStopped()
            }
        }
        while !departed.isEmpty { tellDeparted() }
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
        if count > 0 { pollingEnds = now + UInt64(busyPollingMicroseconds) * 1000 }
        timers.advance(to: now)
        readUnread()
        for index in 0..<count { dispatch(poller[index]) }
        deliverMessages()
        settle()
        if !deferred.isEmpty {
            runDeferred()
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
        guard holds(event.token) else { return }
        let number = Int(truncatingIfNeeded: event.token & 0xFFFF_FFFF)
        if slots[number].isDeferred {
            wait(event.token, event.readiness)
        } else {
            tell(number, event.readiness)
        }
    }

    func tell(_ number: Int, _ readiness: Readiness) {
        switch slots[number].watched {
        case .nothing: break
        case .connection(let connection): connection.ready(readiness)
        case .source(let source): source.ready(readiness)
        }
    }

    /// The connection of a token; nil if it has closed or moved.
    private func connection(_ token: Token) -> Connection? {
        let number = Int(truncatingIfNeeded: token & 0xFFFF_FFFF)
        guard slots[number].generation == UInt32(token >> 32) else { return nil }
        guard case .connection(let connection) = slots[number].watched else { return nil }
        return connection
    }

    private func readUnread() {
        guard !unread.isEmpty else { return }
        var batch: [Token] = []
        swap(&batch, &unread)
        for token in batch { connection(token)?.readBuffered() }
    }

    private func deliverMessages() {
        guard !rung.isEmpty else { return }
        var batch: [any MessageSource] = []
        swap(&batch, &rung)
        for source in batch { source.deliver() }
    }

    private func tellDeparted() {
        guard !departed.isEmpty else { return }
        var batch: [(session: any ConnectionHandler, reason: CloseReason)] = []
        swap(&batch, &departed)
        for (session, reason) in batch { session.closed(reason) }
    }

    /// Flushes connections that asked for it. Those that ask during this flush are flushed in the next turn. Returns
    /// whether any was flushed.
    private func flushDirty() -> Bool {
        guard !dirty.isEmpty else { return false }
        var batch: [Token] = []
        swap(&batch, &spareTokens)
        swap(&batch, &dirty)
        var buffer: [UInt8] = []
        swap(&buffer, &output)
        for token in batch { connection(token)?.flush(using: &buffer) }
        if buffer.capacity > Self.keptOutputCapacity { buffer = [] }
        swap(&buffer, &output)
        batch.removeAll(keepingCapacity: true)
        swap(&batch, &spareTokens)
        return true
    }

    private func applyInterests() {
        guard !interestChanged.isEmpty else { return }
        for token in interestChanged { connection(token)?.applyInterest() }
        interestChanged.removeAll(keepingCapacity: true)
    }
}

// MARK: - What the loop's own sources ask of it

extension EventLoop {
    func heardBell(of source: any MessageSource) { rung.append(source) }

    func needsFlush(_ token: Token) { dirty.append(token) }

    func hasUnreadInput(_ token: Token) { unread.append(token) }

    func interestChanged(_ token: Token) { interestChanged.append(token) }

    func departs(_ session: any ConnectionHandler, _ reason: CloseReason) {
        departed.append((session, reason))
    }

    var hasStopped: Bool { isStopping }
}
