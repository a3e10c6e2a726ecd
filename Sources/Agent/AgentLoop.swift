import Clients
import Notifications
import Storage
import Transport

/// Everything of an agent that lives on its loop, put together; how it starts, and how it ends.
final class AgentLoop {
    private unowned let loop: EventLoop
    private let state: AgentState
    private let desk: AppDesk
    private let door: AppDoor
    private let link: RelayLink
    private let alarm: WallAlarm
    private let log: Log
    private var hasLinkEnded = false
    /// First from sweep to sweep; at the end, until everybody must have gone.
    private lazy var timer = loop.makeTimer { [unowned self] in timeIsUp() }

    /// Milliseconds between two sweeps of the state: an hour.
    private static let sweepMilliseconds = 3_600_000
    /// Milliseconds that connections have to end when the agent stops.
    private static let stopMilliseconds = 3_000

    /// Opens the state and lets apps connect.
    ///
    /// - Parameter failed: is told why the agent ends, if it does not do so because it was stopped.
    init(
        _ configuration: AgentConfiguration, relay: Server, on loop: EventLoop, log: Log,
        failed: @escaping (AgentFailure) -> Void
    ) throws {
        state = try AgentState(directory: configuration.stateDirectory, log: log)
        guard try configuration.enrolmentKey != nil || state.device() != nil else {
            throw AgentFailure.notEnrolled
        }
        desk = AppDesk(state, declarations: configuration.apps, scheduler: loop, log: log)
        door = AppDoor(desk: desk, log: log)
        link = RelayLink(
            configuration, to: relay, state: state, desk: desk, on: loop, log: log, failed: failed)
        alarm = try WallAlarm(on: loop, for: desk.center)
        self.loop = loop
        self.log = log
        desk.line = link
        desk.center.alarm = alarm
        desk.center.latenessMilliseconds = configuration.latenessMilliseconds
        desk.center.answerToAll = configuration.authorization
        try door.open(try SocketAddress(unixPath: configuration.socketPath), on: loop)
    }

    /// Goes for the relay.
    func start() {
        sweep()
        desk.center.start()
        link.start()
    }

    /// Ends everything in good order, then the loop.
    func stop() {
        guard !link.isStopping else { return }
        door.close()
        timer.arm(afterMilliseconds: Self.stopMilliseconds)
        link.stop { [unowned self] in hasLinkEnded = true }
    }

    /// Makes safe and hands over what the turn has brought.
    func endTurn() {
        desk.endTurn()
        if link.hasFailed { stop() }
        if hasLinkEnded, loop.connectionCount == 0 { loop.stop() }
    }

    private func timeIsUp() {
        guard !link.isStopping else { return loop.stop() }
        sweep()
        // Nobody tells of another time zone.
        desk.center.clockChanged(byMilliseconds: 0)
    }

    private func sweep() {
        do throws(StoreError) {
            try state.inbox.sweep(now: Moment(milliseconds: loop.wallMilliseconds))
        } catch {
            log.error("\(error)")
        }
        timer.arm(afterMilliseconds: Self.sweepMilliseconds)
    }
}

/// The loop's alarm clock, as the desk sets it.
final class WallAlarm: AlarmClock {
    private let timer: WallTimer

    init(on loop: EventLoop, for center: CenterDesk) throws(TransportError) {
        timer = try loop.makeWallTimer(
            ring: { [unowned center] in center.alarmRang() },
            clockChanged: { [unowned center] in center.clockChanged(byMilliseconds: $0) })
    }

    func set(_ moment: Moment?) { timer.arm(atWallMilliseconds: moment?.milliseconds) }
}
