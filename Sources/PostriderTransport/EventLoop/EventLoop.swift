internal import CPostriderLinux
internal import Glibc

/// One thread's loop: it handles sockets, timers and mailboxes in turns. It is created and used on the thread that runs
/// it; other threads reach it only through a `Mailbox`.
///
/// One turn: poll → read the clocks once → timers → readable sockets → mailboxes → closed connections → `turnEnded` →
/// flush → deferred events, and the last three again for them → apply changes of interest. So locks and system calls
/// scale with turns, not with work, and deferred handshakes delay no answer.
@safe public final class EventLoop: Scheduler {
    /// What a descriptor number stands for. The generation tells a late event of a closed descriptor from an
    /// event of the one that got its number.
    struct Slot {
        var generation: UInt32 = 0
        var watched: Watched = .nothing
        /// Whether its events are deferred.
        var isDeferred = false
        /// Its deferred events; empty if there are none.
        var awaited: Readiness = []

        /// What epoll is asked for. A deferred connection is reported once and not in each turn, so that thousands of
        /// them cost nothing. A listener is reported in each turn: it accepts one connection at a time.
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

    /// Who hears of a descriptor's events. Connections, being many, are called directly.
    enum Watched {
        case nothing
        case connection(Connection)
        case source(any EventSource)
    }

    /// Generation and number of a descriptor. The lists of a turn hold these, never connections: a
    /// connection on a list may be closed, or belong to another thread, before its turn comes.
    typealias Token = UInt64

    private static let inputCapacity = 64 * 1024
    /// Large, so that deferred handshakes cannot crowd other events out of one epoll_wait.
    private static let reportsPerTurn = 4096
    /// An output buffer that grew beyond this is given back.
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

    /// The processes that it has started and not waited for yet.
    var children: Set<Int32> = []
    /// What waits for those that others have started; nil: nobody here.
    var reaper: OrphanReaper?

    private var rung: [any MessageSource] = []
    var unread: [Token] = []
    var departed: [(session: any ConnectionHandler, reason: CloseReason)] = []
    var dirty: [Token] = []
    var interestChanged: [Token] = []
    private var spareTokens: [Token] = []
    private var output: [UInt8] = []

    /// What every connection of this loop reads into; its content lasts for one `received`.
    let input: UnsafeMutableBufferPointer<UInt8>

    /// What the TLS sessions of this loop share; nil before there is one.
    var tlsWorkspace: (any TLSWorkspace)?

    /// Monotonic nanoseconds, read once per turn.
    public internal(set) var now: UInt64
    /// Milliseconds since 1970, read once per turn.
    public internal(set) var wallMilliseconds: Int64
    /// Counts the turns; the first is 1.
    private(set) var turnNumber: UInt64 = 0
    /// How many connections this loop holds, those included that are being established or ended.
    public internal(set) var connectionCount = 0

    /// How many handshakes may be under way at the listeners that are paced. Nil: as many as come. To be set before the
    /// first turn.
    public var pace: HandshakeLimiter?

    /// How long this loop looks for more, after a turn that had something to do, before it sleeps. To wake a processor
    /// takes longer than most of what there is to do, above all where it belongs to a virtual machine; whoever has one
    /// to spare for each loop is served without that.
    public var busyPollingMicroseconds = 0
    /// Until when it looks, in monotonic nanoseconds.
    var pollingEnds: UInt64 = 0

    /// Called when a turn's events have been handled, before the flush, and again after a flush, and so once more after
    /// the deferred events: the place to post messages that were collected during the turn.
    public var turnEnded: (() -> Void)?

    /// A loop that does nothing yet.
    public init() throws(TransportError) {
        do {
            poller = try Poller(capacity: Self.reportsPerTurn)
        } catch {
            throw TransportError("Cannot make an event loop: \(error.text).")
        }
        // TLS writes with plain write(2), which would end the process when the peer is gone.
        Signals.ignoreBrokenPipes()
        unsafe input = .allocate(capacity: Self.inputCapacity)
        unsafe input.initialize(repeating: 0)
        now = Self.read(CLOCK_MONOTONIC)
        wallMilliseconds = Int64(Self.read(CLOCK_REALTIME) / 1_000_000)
        timers = TimerTable(now: now)
    }

    deinit { unsafe input.deallocate() }

    /// Works until `stop()`. Then every connection is cut, and its session told so.
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

    /// Lets `run()` return after this turn. From this loop's thread only.
    public func stop() { isStopping = true }

    /// A timer on this loop, not yet armed.
    public func makeTimer(_ fire: @escaping () -> Void) -> any LoopTimer { timers.makeTimer(fire) }

    /// Has `receive` called with all messages that have arrived, in order, once a turn. The array's storage
    /// is reused: leave it, or empty it.
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

    /// Has `receive` called with the number of each of `signals` that arrives. They have to be blocked in
    /// all threads: `Signals.block`.
    public func onSignal(_ signals: [Int32], _ receive: @escaping (Int32) -> Void) throws(TransportError) {
        do {
            let source = try SignalSource(signals, receive)
            _ = try watch(source.number, .readable, .source(source))
        } catch {
            throw TransportError("Cannot watch signals: \(error.text).")
        }
    }
}

// MARK: - A turn

extension EventLoop {
    /// One turn. It waits until something happens, or not at all if something is left to be done.
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

    /// Whatever has come of the events so far is told, posted and written.
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

    /// The connection of a token, if it is still here.
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

    /// Connections that ask for another flush meanwhile get it in the next turn.
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
