import PostriderCourier
import PostriderNotifications
import PostriderSystem
import PostriderTransport
import Testing

@testable import PostriderAgent

@Suite("Declared apps at the router")
struct AppLifecycleTests {
    private let fixture: RouterFixture
    private let topic = RecordedApp.topic

    init() throws { fixture = try RouterFixture(manifests: [.sample()]) }

    private var processes: [RecordedLauncher.Process] { fixture.launcher.processes }

    /// Makes the app known and lets it leave.
    private func absent() {
        let app = fixture.attached()
        fixture.router.left(app.stream)
        fixture.router.endTurn()
    }

    private func events(_ app: RecordedApp) -> [LifeCycle.Event] {
        app.told.compactMap { if case .lifeCycle(let change) = $0 { change.event } else { nil } }
    }

    @Test("are started for what arrives, told why before it is handed over, and started no second time")
    func start() {
        absent()
        #expect(processes.isEmpty)
        fixture.arrive(1, 2)
        fixture.router.endTurn()
        #expect(processes.map(\.reason) == ["remote-notification"])
        fixture.arrive(3)
        fixture.router.endTurn()
        let app = fixture.attached()
        #expect(processes.count == 1 && app.identities == [1, 2, 3])
        let launch = LaunchReason.remote(
            .sample(1, identity: 1).received(at: Moment(milliseconds: fixture.clock.wallMilliseconds)))
        #expect(
            app.told.first
                == .lifeCycle(LifeCycle(topic: topic, event: .didFinishLaunching, launch: launch)))
        #expect(events(app) == [.didFinishLaunching, .didEnterBackground])
    }

    @Test("are started for what a killed agent has left in the inbox")
    func restart() throws {
        absent()
        fixture.arrive(1)
        fixture.router.endTurn()
        processes[0].end(.killed(9))
        try fixture.kill()
        #expect(processes.count == 2)
    }

    @Test("that end before they attach are started again for what they were started for, after a while")
    func endBeforeAttaching() {
        absent()
        fixture.arrive(1)
        fixture.router.endTurn()
        for count in 1...3 {
            processes[count - 1].end(.exited(1))
            fixture.router.endTurn()
            #expect(processes.count == count)
            fixture.clock.fireTimers()
            fixture.router.endTurn()
            #expect(processes.count == count + 1)
        }
        #expect(fixture.attached().identities == [1])
    }

    @Test("are taken over by the next agent where they run on, and told nothing new")
    func adoption() throws {
        absent()
        fixture.arrive(1)
        fixture.router.endTurn()
        let former = fixture.attached()
        fixture.lifecycle.handle(.activate, topic)
        #expect(events(former).last == .didBecomeActive)
        try fixture.kill()
        #expect(processes.count == 1)
        let app = fixture.attached()
        #expect(events(app) == [.didFinishLaunching, .didBecomeActive])
        #expect(app.identities == [1])
        fixture.lifecycle.stop {}
        #expect(events(app).suffix(2) == [.didEnterBackground, .willTerminate])
        fixture.router.left(app.stream)
        #expect(processes[0].orders.isEmpty)
        fixture.lifecycle.handle(.timeIsUp, topic)
        #expect(processes[0].orders == ["terminate"])
    }

    @Test("of which a second process goes on when the agent's own ends are not started again beside it")
    func secondProcess() {
        absent()
        fixture.arrive(1)
        fixture.router.endTurn()
        let first = fixture.attached(process: processes[0].identifier)
        #expect(fixture.deliveries.handled([1], by: first.stream))
        let second = fixture.attached(process: 7)
        processes[0].end(.exited(0))
        fixture.router.left(first.stream)
        fixture.router.endTurn()
        fixture.arrive(2)
        fixture.router.endTurn()
        #expect(processes.count == 1 && second.identities == [2])
        #expect(fixture.lifecycle.status(of: topic)?.supervisor.state == .running)
        #expect(fixture.lifecycle.handle(.activate, topic))
        #expect(processes.count == 1)
        fixture.router.left(second.stream)
        fixture.router.endTurn()
        #expect(processes.count == 2)
    }

    @Test("that have ended are started again, also where something holds their connection yet")
    func heldConnection() {
        absent()
        fixture.arrive(1)
        fixture.router.endTurn()
        let app = fixture.attached(process: processes[0].identifier)
        #expect(fixture.deliveries.handled([1], by: app.stream))
        processes[0].end(.killed(11))
        fixture.arrive(2)
        fixture.router.endTurn()
        #expect(processes.count == 2)
    }

    @Test("are gone before the agent is")
    func stop() {
        absent()
        fixture.arrive(1)
        fixture.router.endTurn()
        var isOver = false
        fixture.lifecycle.stop { isOver = true }
        #expect(!isOver && processes[0].orders == ["terminate"])
        processes[0].end(.killed(15))
        #expect(isOver)
        fixture.router.endTurn()
        #expect(processes.count == 1)
    }

    @Test("keep their stream when they give up their registration")
    func unregistration() {
        absent()
        fixture.arrive(1)
        fixture.router.endTurn()
        let app = fixture.attached()
        fixture.registrations.unregister(topic, for: app.stream)
        #expect(fixture.lifecycle.status(of: topic)?.supervisor.state == .running)
        fixture.router.left(app.stream)
        #expect(fixture.lifecycle.status(of: topic)?.supervisor.state == .starting)
    }

    @Test("of which one cannot handle a notification lose that, not those behind it")
    func poison() throws {
        absent()
        fixture.arrive(1, 2)
        fixture.router.endTurn()
        for attempt in 1...Limits.deliveryAttempts.usual {
            let app = fixture.attached()
            #expect(app.identities == [1, 2], "attempt \(attempt)")
            fixture.router.left(app.stream, isBroken: true)
            fixture.router.endTurn()
            processes.last?.end(.killed(11))
            fixture.lifecycle.handle(.timeIsUp, topic)
        }
        #expect(processes.count == Limits.deliveryAttempts.usual + 1)
        #expect(fixture.attached().identities == [2])
        let dead = try #require(try fixture.files.state.deadLetters.entries().first)
        #expect(dead.parcel.identity.low == 1 && dead.attempts == Limits.deliveryAttempts.usual)
    }
}
