import PostriderCourier
import PostriderNotifications

@testable import PostriderAgent

/// A router with a recorded link whose apps record what they are told. It can be killed at any point.
final class RouterFixture {
    let files: StateFixture
    let link = RecordedLink()
    let clock = StandingClock()
    let launcher = RecordedLauncher()
    private(set) var router: AppRouter
    private(set) var lifecycle: AppLifecycle
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
        files = try StateFixture()
        self.declarations = declarations
        self.manifests = manifests
        self.log = log
        handlerClock = DueClock(clock)
        (router, lifecycle) = Self.makeParts(files, declarations, manifests, launcher, clock, log)
        handlers = Self.makeHandlers(manifests, router, recordedHandlers, handlerClock, log)
        open()
    }

    private static func makeHandlers(
        _ manifests: [AppManifest], _ router: AppRouter, _ launcher: RecordedHandlers, _ clock: DueClock,
        _ log: Log
    ) -> HandlerPrograms {
        HandlerPrograms(
            manifests, router: router, programs: launcher, units: launcher, scheduler: clock, log: log)
    }

    private static func makeParts(
        _ files: StateFixture, _ declarations: [String: UInt32], _ manifests: [AppManifest],
        _ launcher: RecordedLauncher, _ clock: StandingClock, _ log: Log
    ) -> (AppRouter, AppLifecycle) {
        let router = AppRouter(files.state, declarations: declarations, scheduler: clock, log: log)
        let lifecycle = AppLifecycle(
            manifests.filter { $0.handler == nil }, state: files.state, router: router, launcher: launcher,
            scheduler: clock, log: log,
            random: { 0 })
        return (router, lifecycle)
    }

    private func open() {
        router.link = link
        router.lifecycle = lifecycle
        router.programs = handlers
        lifecycle.start()
        handlers.start()
        router.markAllDue()
        router.endTurn()
    }

    /// Kills the agent and restarts it; all its streams and the link are gone.
    func kill() throws {
        try files.kill()
        (router, lifecycle) = Self.makeParts(files, declarations, manifests, launcher, clock, log)
        handlers = Self.makeHandlers(manifests, router, recordedHandlers, handlerClock, log)
        open()
        link.acknowledged = []
        lastDelivery = 0
    }

    func arrive(
        _ identities: UInt64..., topic: String = "com.example.one", collapse: String? = nil,
        wantsReport: Bool = false
    ) {
        for identity in identities {
            lastDelivery += 1
            router.delivered(
                .sample(
                    lastDelivery, identity: identity, topic: topic, collapse: collapse,
                    wantsReport: wantsReport))
        }
    }
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
        router.register(RecordedApp.topic, for: app.stream)
        router.endTurn()
        return app
    }
}
