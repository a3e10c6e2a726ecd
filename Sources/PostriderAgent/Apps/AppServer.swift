import PostriderEndpoints
import PostriderNotifications
import PostriderSystem
import PostriderTransport

/// The app socket. It accepts a bounded number of connections from each user, and processes their messages for a
/// bounded time in each turn: a message may wait for the disk, so those of one process could delay everybody else.
final class AppServer {
    let router: AppRouter
    let system: SystemEvents
    let control: AgentControlHandler
    let log: Log
    /// The users whose processes may be an input method.
    var keyboardUsers: Set<UInt32> = [0, UserAccount.own]
    private var sessions: [ObjectIdentifier: AppSession] = [:]
    private var listener: Listener?
    private let scheduler: any Scheduler
    private let readClock: () -> UInt64
    /// The connections with unprocessed messages, in their order.
    private var waitingSessions = FairQueue()
    /// The turn in which messages were processed last, and until when that turn may go on.
    private var turn: UInt64?
    private var end: UInt64 = 0
    private var lastOrdinal: UInt64 = 0
    private lazy var nextTurn = scheduler.makeTimer { [unowned self] in processMessages() }

    /// - Parameter readClock: the clock of the scheduler's `now`, within a turn.
    init(
        router: AppRouter, system: SystemEvents, control: AgentControlHandler, scheduler: any Scheduler,
        readClock: @escaping () -> UInt64, log: Log
    ) {
        self.router = router
        self.system = system
        self.control = control
        self.scheduler = scheduler
        self.readClock = readClock
        self.log = log
    }

    /// Listens on a loop. Every user may connect; what a process may do depends on its user.
    func open(_ address: SocketAddress, on loop: EventLoop) throws(TransportError) {
        listener = try loop.listen(address, mode: 0o666) { [unowned self] peer in
            peer.credentials.flatMap { admit($0.user) }?.endpoint
        }
    }

    /// Accepts no more connections, and closes those whose messages are processed.
    func close() {
        listener?.close()
        listener = nil
        for session in sessions.values { session.close() }
    }

    /// Whether messages wait to be processed.
    var hasMessages: Bool { !waitingSessions.isEmpty }

    /// The next number of a counter that orders the beginnings and ends of connections.
    func drawOrdinal() -> UInt64 {
        lastOrdinal += 1
        return lastOrdinal
    }

    /// Adds a connection with unprocessed messages.
    func enqueue(_ session: AppSession) { waitingSessions.add(session) }

    /// Processes messages for as long as a turn allows, at least one. The others wait for later turns.
    func processMessages() {
        var isFirst = turn != scheduler.now
        if isFirst {
            turn = scheduler.now
            end = readClock() + Limits.callNanosecondsPerTurn
        }
        while isFirst || readClock() < end, let session = waitingSessions.next() {
            isFirst = false
            if session.processNext() { waitingSessions.add(session) }
        }
        if !waitingSessions.isEmpty { nextTurn.arm(afterMilliseconds: 0) }
    }

    /// A session for a process of this user; nil if the user has too many.
    func admit(_ user: UInt32) -> AppSession? {
        guard sessions.values.count(where: { $0.user == user }) < Limits.appConnectionsPerUser else {
            log.notice(
                "user \(user) has too many connections to the app socket", kind: "app connections",
                from: "\(user)")
            return nil
        }
        return AppSession(user: user, server: self)
    }

    func opened(_ session: AppSession) { sessions[ObjectIdentifier(session)] = session }

    /// A connection is gone, and its messages are processed.
    func closed(_ session: AppSession) { sessions[ObjectIdentifier(session)] = nil }
}
