import FoundationEssentials
import PostriderClients
import PostriderCrypto
import PostriderDBus
import PostriderNotifications
import PostriderStorage
import PostriderSystem
import PostriderTransport

/// Everything that runs on an agent's loop, assembled; how it starts and how it ends.
final class AgentLoop {
    private unowned let loop: EventLoop
    private let parts: AgentParts
    private let router: AppRouter
    private let handlers: HandlerPrograms
    private let units: UnitHandlers
    private let server: AppServer
    private let link: RelayLink
    private let alarm: WallTimer
    private let login: SleepMonitor
    private let power: PowerSaver
    private let log: Log
    private let failed: (AgentFailure) -> Void
    private var ending = Ending()
    /// While the agent runs: until the time zone is checked next. At the end: until everybody must have stopped.
    private lazy var timer = loop.makeTimer { [unowned self] in timeIsUp() }
    /// Armed while the state cannot be opened again because the disk refuses it.
    private lazy var renewal = loop.makeTimer { [unowned self] in renew() }

    /// How far the end of the agent has come.
    private struct Ending {
        var isLinkRunning = true
        var areAppsRunning = true
        var areHandlersRunning = true
        /// Whether the connections of apps may be closed.
        var haveAppsEnded: Bool { !areAppsRunning && !areHandlersRunning }
    }

    /// The directory of the file with the device's time zone (localtime(5)). The file is replaced, not written, so its
    /// directory is watched.
    private static let zoneDirectory = "/etc"
    private static let zoneFile = "localtime"

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
        _ configuration: AgentConfiguration, relays: [Server], on loop: EventLoop, log: Log,
        failed: @escaping (AgentFailure) -> Void
    ) throws {
        let processes = ProcessTable(on: loop)
        try processes.reapOrphansAsFirstProcess()
        let state = try AgentState(directory: configuration.stateDirectory, log: log)
        guard try configuration.enrolmentKey != nil || state.device() != nil else {
            throw AgentFailure.notEnrolled(configuration)
        }
        let entropy = Entropy()
        func bus(_ address: BusAddress?) -> ReconnectingBus {
            ReconnectingBus(to: address, on: loop, log: log, random: { entropy.next() })
        }
        let trouble = StateTrouble(state, scheduler: loop, log: log)
        link = RelayLink(configuration, to: relays, state: state, trouble: trouble, on: loop, log: log)
        let launcher = ProcessLauncher(processes, socketPath: URL(filePath: configuration.socketPath).path)
        let systemBus = bus(configuration.systemBus)
        let sleepLock = LogindLock(on: systemBus, log: log)
        let boot = Self.bootIdentifier
        let parts = AgentParts(
            state, declared: DeclaredApps(configuration.manifests, users: configuration.declarations),
            trouble: trouble,
            in: AgentParts.Surroundings(
                link: link, launcher: launcher, sleepLock: sleepLock,
                desktop: configuration.sessionBus.map { bus($0) }, runner: launcher,
                readClock: {
                    ClockReading(
                        bootIdentifier: boot,
                        offsetMilliseconds: EventLoop.wallOffsetNanoseconds / 1_000_000)
                }, latenessMilliseconds: configuration.latenessMilliseconds,
                random: { entropy.next() }, scheduler: loop, log: log))
        self.parts = parts
        router = AppRouter(parts, scheduler: loop)
        login = SleepMonitor(on: systemBus, lock: sleepLock, for: parts.system, log: log)
        units = UnitHandlers(
            bus(configuration.systemBus), directory: configuration.handlerDirectory, scheduler: loop,
            log: log)
        handlers = HandlerPrograms(
            configuration.manifests, registrations: parts.registrations, deliveries: parts.deliveries,
            programs: ProgramHandlers(processes, launcher), units: units, scheduler: loop, log: log)
        if configuration.isDistributor, let address = configuration.sessionBus {
            router.distributor = Distributor(
                parts, link: link, caller: DistributorBus(bus(address), log: log), scheduler: loop,
                random: { entropy.next() }, log: log)
        }
        let control = AgentControlHandler(parts, handlers: handlers, link: link, scheduler: loop, log: log)
        server = AppServer(
            router: router, system: parts.system, control: control, scheduler: loop,
            readClock: { EventLoop.monotonicNanoseconds }, log: log)
        alarm = try loop.makeWallTimer(
            ring: { [unowned center = parts.center] in center.alarmRang() },
            clockChanged: { [unowned center = parts.center, unowned system = parts.system] in
                center.clockChanged(byMilliseconds: $0)
                system.clockChanged(byMilliseconds: $0)
            })
        power = PowerSaver(PowerSupply(on: loop), reception: parts.reception)
        self.loop = loop
        self.log = log
        self.failed = failed
        take(configuration)
        do throws(TransportError) {
            try loop.watch(directory: Self.zoneDirectory, for: Self.zoneFile) { [unowned self] in
                clockChanged()
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
        Result { () throws(StoreError) in try server.control.status() }
    }

    /// Connects to the relay.
    func start() {
        timer.arm(afterMilliseconds: Self.lookMilliseconds)
        parts.lifecycle.start()
        handlers.start()
        router.distributor?.start()
        parts.authorizations.applyDecisions()
        parts.presenter.start()
        parts.center.start()
        // The zone that later changes are compared with.
        parts.system.clockChanged(byMilliseconds: 0)
        parts.markAllDue()
        login.start()
        power.start()
        link.start()
    }

    /// Takes the settings that can change while the agent runs.
    private func take(_ configuration: AgentConfiguration) {
        parts.declared.declare(configuration.manifests, users: configuration.declarations)
        parts.deliveries.mostAttempts = configuration.deliveryAttempts
        parts.reporter.isOn = configuration.reports
        parts.authorizations.answerToAll = configuration.authorization
        server.keyboardUsers = [0, configuration.keyboardUser]
        power.mode = configuration.powerSaving
    }

    /// Takes what has changed in the configuration, and returns a phrase about it.
    func reload(_ configuration: AgentConfiguration) -> String {
        take(configuration)
        parts.registrations.declarationsChanged()
        let apps = parts.lifecycle.declare(configuration.appManifests)
        let handlers = handlers.declare(configuration.manifests)
        // An app may have become a handler, or the other way round.
        let (declared, former) = (configuration.manifests.map(\.topic), apps.removed + handlers.removed)
        let added = (apps.added + handlers.added).filter { !former.contains($0) }.sorted()
        let removed = former.filter { !declared.contains($0) }.sorted()
        parts.authorizations.applyDecisions()
        for topic in removed { parts.registrations.forgetUndeclared(topic) }
        for topic in added { parts.streams.markDue(topic) }
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
        parts.lifecycle.stop { [unowned self] in
            ending.areAppsRunning = false
            closeIfAppsEnded()
        }
        handlers.stop { [unowned self] in
            ending.areHandlersRunning = false
            closeIfAppsEnded()
        }
        link.stop { [unowned self] in ending.isLinkRunning = false }
    }

    private func closeIfAppsEnded() {
        guard ending.haveAppsEnded else { return }
        units.stop()
        router.distributor?.stop()
        server.close()
    }

    /// Processes what the link has brought, then commits and hands over what the turn has brought.
    func endTurn() {
        if parts.state.needsRenewal, !renewal.isArmed { renew() }
        processEvents()
        router.endTurn()
        // If the changes could not be stored, the link has ended.
        processEvents()
        if let setting = parts.center.takeAlarm() {
            alarm.arm(atWallMilliseconds: setting.moment?.milliseconds)
        }
        if let failure = link.failure, !link.isStopping {
            failed(failure)
            stop()
        }
        // The calls of apps may still show or remove something.
        guard ending.haveAppsEnded, !server.hasMessages else { return }
        parts.presenter.stop()
        if !ending.isLinkRunning, loop.connectionCount == 0 { loop.stop() }
    }

    private func processEvents() { while let event = link.nextEvent() { router.receive(event) } }

    private func renew() {
        do throws(StoreError) {
            try parts.state.renew()
        } catch {
            log.debug("\(error)")
            renewal.arm(afterMilliseconds: Self.renewalMilliseconds)
        }
    }

    /// The time zone may have changed.
    private func clockChanged() {
        parts.center.clockChanged(byMilliseconds: 0)
        parts.system.clockChanged(byMilliseconds: 0)
    }

    private func timeIsUp() {
        guard !link.isStopping else { return loop.stop() }
        // If the zone's file cannot be watched, nobody reports a new time zone.
        clockChanged()
        timer.arm(afterMilliseconds: Self.lookMilliseconds)
    }
}
