import FoundationEssentials
import PostriderClients
import PostriderCrypto
import PostriderNotifications
import PostriderStorage
import PostriderSystem
import PostriderTransport

/// Everything that runs on an agent's loop, assembled; how it starts and how it ends.
final class AgentLoop {
    private unowned let loop: EventLoop
    private let state: AgentState
    private let router: AppRouter
    private let lifecycle: AppLifecycle
    private let handlers: HandlerPrograms
    private let units: UnitHandlers
    private let launcher: ProcessLauncher
    private let control: AgentControlHandler
    private let server: AppServer
    private let link: RelayLink
    private let alarm: WallAlarm
    private let login: SleepMonitor
    private let supply: PowerSupply
    private var powerSaving = PowerSaving.whenOnBattery
    private var isOnBattery = false
    private let presenter: Presenter
    private let log: Log
    private var hasLinkEnded = false
    private var haveAppsEnded = false
    private var running: Set<Party> = [.apps, .handlers]

    /// What must have ended before connections of apps are closed.
    private enum Party { case apps, handlers }
    /// While the agent runs: until the time zone is checked next. At the end: until everybody must have stopped.
    private lazy var timer = loop.makeTimer { [unowned self] in timeIsUp() }

    /// The directory of the file with the device's time zone (localtime(5)). The file is replaced, not written, so its
    /// directory is watched.
    private static let zoneDirectory = "/etc"
    private static let zoneFile = "localtime"
    /// Armed while the state cannot be opened again because the disk refuses it.
    private lazy var renewal = loop.makeTimer { [unowned self] in renew() }

    /// Milliseconds between two attempts to open the state again.
    private static let renewalMilliseconds = 1000
    /// Milliseconds between two checks of the time zone: an hour.
    private static let lookMilliseconds = 3_600_000
    /// Milliseconds that apps and connections have to end when the agent stops.
    private static let stopMilliseconds = 3 * Limits.farewellMilliseconds

    /// Opens the state and lets apps connect.
    ///
    /// - Parameter failed: gets the reason if the agent ends without having been stopped.
    init(
        _ configuration: AgentConfiguration, relay: Server, on loop: EventLoop, log: Log,
        failed: @escaping (AgentFailure) -> Void
    ) throws {
        let processes = ProcessTable(on: loop)
        try processes.reapOrphansAsFirstProcess()
        state = try AgentState(directory: configuration.stateDirectory, log: log)
        guard try configuration.enrolmentKey != nil || state.device() != nil else {
            throw AgentFailure.notEnrolled(configuration)
        }
        router = AppRouter(state, declarations: configuration.declarations, scheduler: loop, log: log)
        launcher = ProcessLauncher(
            processes, socketPath: URL(filePath: configuration.socketPath).path)
        let entropy = Entropy()
        lifecycle = AppLifecycle(
            configuration.appManifests, state: state, router: router, launcher: launcher, scheduler: loop,
            log: log, random: { entropy.next() })
        units = UnitHandlers(
            ReconnectingBus(to: configuration.systemBus, on: loop, log: log, random: { entropy.next() }),
            directory: configuration.handlerDirectory, scheduler: loop, log: log)
        handlers = HandlerPrograms(
            configuration.manifests, router: router, programs: ProgramHandlers(processes, launcher),
            units: units,
            scheduler: loop, log: log)
        control = AgentControlHandler(state, router: router, lifecycle: lifecycle, log: log)
        server = AppServer(
            router: router, control: control, scheduler: loop, readClock: { EventLoop.monotonicNanoseconds },
            log: log
        )
        link = RelayLink(
            configuration, to: relay, state: state, router: router, on: loop, log: log, failed: failed)
        alarm = try WallAlarm(on: loop, for: router)
        login = SleepMonitor(
            on: ReconnectingBus(to: configuration.systemBus, on: loop, log: log, random: { entropy.next() }),
            for: router.system, log: log)
        supply = PowerSupply(on: loop)
        let bus = configuration.sessionBus.map { address in
            ReconnectingBus(to: address, on: loop, log: log) { entropy.next() }
        }
        presenter = Presenter(
            state, router: router, manifests: configuration.manifests, bus: bus, runner: launcher,
            scheduler: loop, log: log)
        self.loop = loop
        self.log = log
        router.presenter = presenter
        control.presenter = presenter
        router.link = link
        router.lifecycle = lifecycle
        router.programs = handlers
        control.isLinked = { [unowned link] in link.isUp }
        router.center.alarm = alarm
        let boot = Self.bootIdentifier
        router.center.readClock = {
            ClockReading(
                bootIdentifier: boot, offsetMilliseconds: EventLoop.wallOffsetNanoseconds / 1_000_000)
        }
        router.center.latenessMilliseconds = configuration.latenessMilliseconds
        take(configuration)
        router.system.sleepLock = login
        router.system.whenAsleep = { [unowned link] in link.sleep() }
        router.system.whenAwake = { [unowned link] in link.wake() }
        do throws(TransportError) {
            try loop.watch(directory: Self.zoneDirectory, for: Self.zoneFile) { [unowned router] in
                router.clockChanged(byMilliseconds: 0)
            }
        } catch {
            log.notice("the time zone is only checked once an hour: \(error)")
        }
        try server.open(try SocketAddress(unixPath: configuration.socketPath), on: loop)
    }

    /// Identifies this boot of the machine (random(4)).
    private static var bootIdentifier: String {
        let text = try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)
        return text?.trimmed ?? ""
    }

    /// The status of the agent; a failure if it cannot be read from the disk.
    var status: Result<AgentControl.Status, StoreError> {
        Result { () throws(StoreError) in try control.status() }
    }

    /// Connects to the relay.
    func start() {
        timer.arm(afterMilliseconds: Self.lookMilliseconds)
        lifecycle.start()
        handlers.start()
        router.center.applyDecisions()
        presenter.start()
        router.center.start()
        // The zone that later changes are compared with.
        router.system.clockChanged(byMilliseconds: 0, zone: router.center.zoneName)
        router.markAllDue()
        login.start()
        supply.start { [unowned self] in supplied(byBattery: $0) }
        link.start()
    }

    /// Takes the settings that can change while the agent runs.
    private func take(_ configuration: AgentConfiguration) {
        presenter.declare(configuration.manifests)
        router.mostAttempts = configuration.deliveryAttempts
        router.reporter.isOn = configuration.reports
        router.center.answerToAll = configuration.authorization
        server.keyboardUsers = [0, configuration.keyboardUser]
        powerSaving = configuration.powerSaving
        savePower()
    }

    private func supplied(byBattery isOnBattery: Bool) {
        self.isOnBattery = isOnBattery
        savePower()
    }

    private func savePower() {
        let saves = powerSaving == .always || (powerSaving == .whenOnBattery && isOnBattery)
        if saves != router.savesPower { router.savesPower = saves }
    }

    /// Takes what has changed in the configuration, and returns a phrase about it.
    func reload(_ configuration: AgentConfiguration) -> String {
        take(configuration)
        router.declare(configuration.declarations)
        let apps = lifecycle.declare(configuration.appManifests)
        let handlers = handlers.declare(configuration.manifests)
        // An app may have become a handler, or the other way round.
        let (declared, former) = (configuration.manifests.map(\.topic), apps.removed + handlers.removed)
        let added = (apps.added + handlers.added).filter { !former.contains($0) }.sorted()
        let removed = former.filter { !declared.contains($0) }.sorted()
        router.center.applyDecisions()
        for topic in removed { router.forgetUndeclared(topic) }
        for topic in added { router.markDue(topic) }
        let changes = [("added", added), ("removed", removed)].filter { !$0.1.isEmpty }
        let count = configuration.manifests.count
        return "\(count) \(count == 1 ? "app is" : "apps are") declared"
            + changes.map { "; \($0.0) \($0.1.joined(separator: ", "))" }.joined()
    }

    /// Stops everything in good order, then the loop.
    func stop() {
        guard !link.isStopping else { return }
        timer.arm(afterMilliseconds: Self.stopMilliseconds)
        login.stop()
        lifecycle.stop { [unowned self] in ended { $0.remove(.apps) } }
        handlers.stop { [unowned self] in ended { $0.remove(.handlers) } }
        link.stop { [unowned self] in hasLinkEnded = true }
    }

    private func ended(_ change: (inout Set<Party>) -> Void) {
        change(&running)
        guard running.isEmpty else { return }
        units.stop()
        haveAppsEnded = true
        server.close()
    }

    /// Commits and hands over what the turn has brought.
    func endTurn() {
        if state.needsRenewal, !renewal.isArmed { renew() }
        router.endTurn()
        if link.hasFailed { stop() }
        // The calls of apps may still show or remove something.
        guard haveAppsEnded, !server.hasCalls else { return }
        presenter.stop()
        if hasLinkEnded, loop.connectionCount == 0 { loop.stop() }
    }

    private func renew() {
        do throws(StoreError) {
            try state.renew()
        } catch {
            log.debug("\(error)")
            renewal.arm(afterMilliseconds: Self.renewalMilliseconds)
        }
    }

    private func timeIsUp() {
        guard !link.isStopping else { return loop.stop() }
        // If the zone's file cannot be watched, nobody reports a new time zone.
        router.clockChanged(byMilliseconds: 0)
        timer.arm(afterMilliseconds: Self.lookMilliseconds)
    }
}

/// The loop's alarm clock, set by the router.
final class WallAlarm: AlarmClock {
    private let timer: WallTimer

    init(on loop: EventLoop, for router: AppRouter) throws(TransportError) {
        timer = try loop.makeWallTimer(
            ring: { [unowned router] in router.center.alarmRang() },
            clockChanged: { [unowned router] in router.clockChanged(byMilliseconds: $0) })
    }

    func set(_ moment: Moment?) { timer.arm(atWallMilliseconds: moment?.milliseconds) }
}
