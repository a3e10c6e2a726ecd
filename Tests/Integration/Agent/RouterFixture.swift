import PostriderCourier
import PostriderNotifications
import PostriderSchedules
import PostriderSystem

@testable import PostriderAgent

/// A router with a recorded link whose apps record what they are told. It can be killed at any point.
@dynamicMemberLookup
final class RouterFixture {
    let files: StateFixture
    let link = RecordedLink()
    let clock = StandingClock()
    let launcher = RecordedLauncher()
    let sleepLock = RecordedLock()
    private(set) var parts: AgentParts
    private(set) var router: AppRouter
    let recordedHandlers = RecordedHandlers()
    /// The handlers' clock, which shows the same time.
    let handlerClock: DueClock
    private(set) var handlers: HandlerPrograms
    private let declarations: [String: UInt32]
    private var lastDelivery: UInt64 = 0
    /// What the device's clocks show; nil: unknown.
    var reading: ClockReading? { didSet { surroundings.reading = reading } }
    /// The name of the device's time zone.
    var zone: String? { didSet { surroundings.zone = zone } }

    private let manifests: [AppManifest]
    private let log: Log
    private let surroundings = Surroundings()
    private let outside: AgentParts.Surroundings

    /// What the parts read of the device.
    private final class Surroundings {
        var reading: ClockReading?
        var zone: String?
    }

    init(
        declarations: [String: UInt32] = [:], manifests: [AppManifest] = [], log: Log = .none
    ) throws {
        files = try StateFixture()
        self.declarations = declarations
        self.manifests = manifests
        self.log = log
        handlerClock = DueClock(clock)
        let device = surroundings
        outside = .init(
            link: link, launcher: launcher, sleepLock: sleepLock, readClock: { device.reading },
            zone: { ZoneDirectory().named(device.zone) }, random: { 0 }, scheduler: clock, log: log)
        parts = Self.makeParts(files.state, DeclaredApps(manifests, users: declarations), outside)
        router = AppRouter(parts, scheduler: clock)
        handlers = Self.makeHandlers(manifests, parts, recordedHandlers, handlerClock, log)
        open()
    }

    /// The parts of the agent by name.
    subscript<Part>(dynamicMember path: KeyPath<AgentParts, Part>) -> Part { parts[keyPath: path] }

    private static func makeHandlers(
        _ manifests: [AppManifest], _ parts: AgentParts, _ launcher: RecordedHandlers, _ clock: DueClock,
        _ log: Log
    ) -> HandlerPrograms {
        HandlerPrograms(
            manifests, registrations: parts.registrations, deliveries: parts.deliveries, programs: launcher,
            units: launcher, scheduler: clock, log: log)
    }

    private static func makeParts(
        _ state: AgentState, _ declared: DeclaredApps, _ outside: AgentParts.Surroundings
    ) -> AgentParts {
        AgentParts(
            state, declared: declared,
            trouble: StateTrouble(state, scheduler: outside.scheduler, log: outside.log), in: outside)
    }

    private func open() {
        parts.lifecycle.start()
        handlers.start()
        parts.presenter.start()
        parts.markAllDue()
        router.endTurn()
    }

    /// Kills the agent and restarts it; all its streams and the link are gone.
    func kill() throws {
        try files.kill()
        parts = Self.makeParts(files.state, DeclaredApps(manifests, users: declarations), outside)
        router = AppRouter(parts, scheduler: clock)
        handlers = Self.makeHandlers(manifests, parts, recordedHandlers, handlerClock, log)
        open()
        link.acknowledged = []
        lastDelivery = 0
    }

    /// Declares apps anew, as a reloaded configuration does. Returns the topics that were added and removed.
    func declare(_ manifests: [AppManifest]) -> (added: [String], removed: [String]) {
        parts.declared.declare(manifests, users: declarations)
        return parts.lifecycle.declare(manifests)
    }

    /// Declares the users of topics anew.
    func declare(users: [String: UInt32]) {
        parts.declared.declare(Array(parts.declared.manifests.values), users: users)
        parts.registrations.declarationsChanged()
    }

    /// Answers the commands of the device's owner, who is this user.
    func control(user: UInt32 = UserAccount.own) -> AgentControlHandler {
        AgentControlHandler(
            parts, handlers: handlers, link: link, scheduler: clock, log: .none, user: user)
    }

    func arrive(
        _ identities: UInt64..., topic: String = "com.example.one", collapse: String? = nil,
        wantsReport: Bool = false
    ) {
        for identity in identities {
            lastDelivery += 1
            parts.deliveries.delivered(
                .sample(
                    lastDelivery, identity: identity, topic: topic, collapse: collapse,
                    wantsReport: wantsReport))
        }
    }
}

/// A sleep lock that records the calls.
final class RecordedLock: SleepLock {
    var done: [String] = []
    func take() { done.append("take") }
    func release() { done.append("release") }
}

extension ZoneDirectory {
    /// The rules of a zone; those of the device if no name is given.
    func named(_ name: String?) -> ZoneRules { name.map { rules(named: $0) ?? .gmt } ?? current }
}

/// An app that is attached to a router.
final class RecordedApp {
    static let topic = "com.example.one"

    /// The messages to the app, without those about the device as it attaches.
    var told: [AgentMessage] = []
    var states: [DeviceState] = []
    /// The statuses with which the agent ended the stream, and the action at that end.
    private(set) var ended: [GRPCStatus] = []
    var whenEnded: (() -> Void)?
    private(set) lazy var stream = AppStream(
        user: user, process: process,
        end: { [unowned self] status, _ in
            ended.append(status)
            whenEnded?()
        },
        say: { [unowned self] message in
            if case .deviceState(let state) = message { states.append(state) } else { told.append(message) }
        })
    private let user: UInt32
    private let process: Int32?

    init(user: UInt32 = 1000, process: Int32? = nil) {
        self.user = user
        self.process = process
    }

    var delivered: [Deliver] {
        told.compactMap { if case .deliver(let deliver) = $0 { deliver } else { nil } }
    }
    var identities: [UInt64] { delivered.map(\.identity.low) }
}

extension RouterFixture {
    /// Attaches an app of this user, with a registration of the usual topic.
    func attached(user: UInt32 = 1000, process: Int32? = nil) -> RecordedApp {
        let app = RecordedApp(user: user, process: process)
        parts.registrations.register(RecordedApp.topic, for: app.stream)
        router.endTurn()
        return app
    }
}
