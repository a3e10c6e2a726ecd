import PostriderEndpoints
import PostriderNotifications
import PostriderTransport

/// The app socket: lets processes of this device in, so many of each user, and has their calls worked off, for so long
/// in a turn. Each call may wait for the disk, so what one process can send at once could keep everybody else waiting.
final class AppServer {
    let desk: AppRouter
    let owner: AgentControlHandler
    let log: Log
    /// The users whose processes may be an input method.
    var keyboardUsers: Set<UInt32> = [0, UserAccount.own]
    private var sessions: [ObjectIdentifier: AppSession] = [:]
    private var listener: Listener?
    private let scheduler: any Scheduler
    private let readClock: () -> UInt64
    /// Connections with calls that wait.
    private var rota = FairQueue()
    /// In which turn calls were worked off last, and until when.
    private var turn: UInt64?
    private var end: UInt64 = 0
    private var lastCount: UInt64 = 0
    private lazy var nextTurn = scheduler.makeTimer { [unowned self] in workOff() }

    /// - Parameter readClock: the clock of the scheduler's `now`, within a turn.
    init(
        desk: AppRouter, owner: AgentControlHandler, scheduler: any Scheduler,
        readClock: @escaping () -> UInt64, log: Log
    ) {
        self.desk = desk
        self.owner = owner
        self.scheduler = scheduler
        self.readClock = readClock
        self.log = log
    }

    /// Listens on a loop. Everybody may connect: what one may have is told by who one is.
    func open(_ address: SocketAddress, on loop: EventLoop) throws(TransportError) {
        listener = try loop.listen(address, mode: 0o666) { [unowned self] peer in
            peer.credentials.flatMap { admit($0.user) }?.endpoint
        }
    }

    /// Lets nobody in any more, and everybody out whose calls are worked off.
    func close() {
        listener?.close()
        listener = nil
        for session in sessions.values { session.close() }
    }

    /// Whether there are calls to be worked off.
    var hasCalls: Bool { !rota.isEmpty }

    /// A number that is larger than all before it: what happens to connections is counted by it.
    func count() -> UInt64 {
        lastCount += 1
        return lastCount
    }

    /// A connection has calls that wait.
    func queue(_ session: AppSession) { rota.add(session) }

    /// Works off calls for as long as a turn allows, at least one; the rest in the next turns.
    func workOff() {
        var isFirst = turn != scheduler.now
        if isFirst {
            turn = scheduler.now
            end = readClock() + Limits.callNanosecondsPerTurn
        }
        while isFirst || readClock() < end, let session = rota.next() {
            isFirst = false
            if session.workOffNext() { rota.add(session) }
        }
        if !rota.isEmpty { nextTurn.arm(afterMilliseconds: 0) }
    }

    /// A session for a process of this user; nil when the user has too many.
    func admit(_ user: UInt32) -> AppSession? {
        guard sessions.values.count(where: { $0.user == user }) < Limits.appConnectionsPerUser else {
            log.notice(
                "user \(user) has too many connections to the app socket", kind: "app connections",
                from: "\(user)")
            return nil
        }
        return AppSession(user: user, door: self)
    }

    func opened(_ session: AppSession) { sessions[ObjectIdentifier(session)] = session }

    /// The connection is gone, and what it had called for is worked off.
    func closed(_ session: AppSession) { sessions[ObjectIdentifier(session)] = nil }
}
