import PostriderCourier
import PostriderNotifications

@testable import PostriderAgent

/// A desk with a recorded link whose apps record what they are told. It can be killed at any point.
final class DeskRig {
    let ground: Ground
    let line = RecordedLine()
    let clock = StandingClock()
    let launcher = RecordedLauncher()
    private(set) var desk: AppRouter
    private(set) var keeper: AppLifecycle
    let recordedHandlers = RecordedHandlers()
    /// The handlers' clock, which shows the same time.
    let handlerClock: DueClock
    private(set) var handlers: HandlerPrograms
    private let declarations: [String: UInt32]
    private var lastDelivery: UInt64 = 0

    private let manifests: [AppManifest]
    private let log: Log

    init(
        declarations: [String: UInt32] = [:], manifests: [AppManifest] = [], log: Log = .none
    ) throws {
        ground = try Ground()
        self.declarations = declarations
        self.manifests = manifests
        self.log = log
        handlerClock = DueClock(clock)
        (desk, keeper) = Self.furnish(ground, declarations, manifests, launcher, clock, log)
        handlers = Self.makeHandlers(manifests, desk, recordedHandlers, handlerClock, log)
        open()
    }

    private static func makeHandlers(
        _ manifests: [AppManifest], _ desk: AppRouter, _ launcher: RecordedHandlers, _ clock: DueClock,
        _ log: Log
    ) -> HandlerPrograms {
        HandlerPrograms(
            manifests, desk: desk, programs: launcher, units: launcher, scheduler: clock, log: log)
    }

    private static func furnish(
        _ ground: Ground, _ declarations: [String: UInt32], _ manifests: [AppManifest],
        _ launcher: RecordedLauncher, _ clock: StandingClock, _ log: Log
    ) -> (AppRouter, AppLifecycle) {
        let desk = AppRouter(ground.state, declarations: declarations, scheduler: clock, log: log)
        let keeper = AppLifecycle(
            manifests.filter { $0.handler == nil }, state: ground.state, desk: desk, launcher: launcher,
            scheduler: clock, log: log,
            random: { 0 })
        return (desk, keeper)
    }

    private func open() {
        desk.line = line
        desk.keeper = keeper
        desk.programs = handlers
        keeper.start()
        handlers.start()
        desk.stirAll()
        desk.endTurn()
    }

    /// Kills the agent and restarts it; all its streams and the link are gone.
    func kill() throws {
        try ground.kill()
        (desk, keeper) = Self.furnish(ground, declarations, manifests, launcher, clock, log)
        handlers = Self.makeHandlers(manifests, desk, recordedHandlers, handlerClock, log)
        open()
        line.acknowledged = []
        lastDelivery = 0
    }

    func arrive(
        _ identities: UInt64..., topic: String = "com.example.one", collapse: String? = nil,
        wantsReport: Bool = false
    ) {
        for identity in identities {
            lastDelivery += 1
            desk.delivered(
                .sample(
                    lastDelivery, identity: identity, topic: topic, collapse: collapse,
                    wantsReport: wantsReport))
        }
    }
}

/// An app that is attached to a desk.
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

extension DeskRig {
    /// Attaches an app of this user, with a registration of the usual topic.
    func attached(user: UInt32 = 1000, process: Int32? = nil) -> RecordedApp {
        let app = RecordedApp(user: user, process: process)
        desk.register(RecordedApp.topic, for: app.stream)
        desk.endTurn()
        return app
    }
}
