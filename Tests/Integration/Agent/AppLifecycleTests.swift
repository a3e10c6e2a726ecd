import PostriderCourier
import PostriderNotifications
import PostriderSystem
import PostriderTransport
import Testing

@testable import PostriderAgent

@Suite("Declared apps at the desk")
struct AppLifecycleTests {
    private let rig: DeskRig
    private let topic = RecordedApp.topic

    init() throws { rig = try DeskRig(manifests: [.sample()]) }

    private var processes: [RecordedLauncher.Process] { rig.launcher.processes }

    /// Makes the app known and lets it leave.
    private func absent() {
        let app = rig.attached()
        rig.desk.left(app.stream)
        rig.desk.endTurn()
    }

    private func events(_ app: RecordedApp) -> [LifeCycle.Event] {
        app.told.compactMap { if case .lifeCycle(let change) = $0 { change.event } else { nil } }
    }

    @Test("are started for what arrives, told why before it is handed over, and started no second time")
    func start() {
        absent()
        #expect(processes.isEmpty)
        rig.arrive(1, 2)
        rig.desk.endTurn()
        #expect(processes.map(\.reason) == ["remote-notification"])
        rig.arrive(3)
        rig.desk.endTurn()
        let app = rig.attached()
        #expect(processes.count == 1 && app.identities == [1, 2, 3])
        let launch = LaunchReason.remote(.sample(1, identity: 1).received(at: rig.desk.now))
        #expect(
            app.told.first
                == .lifeCycle(LifeCycle(topic: topic, event: .didFinishLaunching, launch: launch)))
        #expect(events(app) == [.didFinishLaunching, .didEnterBackground])
    }

    @Test("are started for what a killed agent has left in the inbox")
    func restart() throws {
        absent()
        rig.arrive(1)
        rig.desk.endTurn()
        processes[0].end(.killed(9))
        try rig.kill()
        #expect(processes.count == 2)
    }

    @Test("that end before they attach are started again for what they were started for, after a while")
    func endBeforeAttaching() {
        absent()
        rig.arrive(1)
        rig.desk.endTurn()
        for count in 1...3 {
            processes[count - 1].end(.exited(1))
            rig.desk.endTurn()
            #expect(processes.count == count)
            rig.clock.fireTimers()
            rig.desk.endTurn()
            #expect(processes.count == count + 1)
        }
        #expect(rig.attached().identities == [1])
    }

    @Test("are taken over by the next agent where they run on, and told nothing new")
    func adoption() throws {
        absent()
        rig.arrive(1)
        rig.desk.endTurn()
        let former = rig.attached()
        rig.keeper.handle(.activate, topic)
        #expect(events(former).last == .didBecomeActive)
        try rig.kill()
        #expect(processes.count == 1)
        let app = rig.attached()
        #expect(events(app) == [.didFinishLaunching, .didBecomeActive])
        #expect(app.identities == [1])
        rig.keeper.stop {}
        #expect(events(app).suffix(2) == [.didEnterBackground, .willTerminate])
        rig.desk.left(app.stream)
        #expect(processes[0].orders.isEmpty)
        rig.keeper.handle(.timeIsUp, topic)
        #expect(processes[0].orders == ["terminate"])
    }

    @Test("of which a second process goes on when the agent's own ends are not started again beside it")
    func secondProcess() {
        absent()
        rig.arrive(1)
        rig.desk.endTurn()
        let first = rig.attached(process: processes[0].identifier)
        #expect(rig.desk.handled([1], by: first.stream))
        let second = rig.attached(process: 7)
        processes[0].end(.exited(0))
        rig.desk.left(first.stream)
        rig.desk.endTurn()
        rig.arrive(2)
        rig.desk.endTurn()
        #expect(processes.count == 1 && second.identities == [2])
        #expect(rig.keeper.status(of: topic)?.supervisor.state == .running)
        #expect(rig.keeper.handle(.activate, topic))
        #expect(processes.count == 1)
        rig.desk.left(second.stream)
        rig.desk.endTurn()
        #expect(processes.count == 2)
    }

    @Test("that have ended are started again, also where something holds their connection yet")
    func heldConnection() {
        absent()
        rig.arrive(1)
        rig.desk.endTurn()
        let app = rig.attached(process: processes[0].identifier)
        #expect(rig.desk.handled([1], by: app.stream))
        processes[0].end(.killed(11))
        rig.arrive(2)
        rig.desk.endTurn()
        #expect(processes.count == 2)
    }

    @Test("are gone before the agent is")
    func stop() {
        absent()
        rig.arrive(1)
        rig.desk.endTurn()
        var isOver = false
        rig.keeper.stop { isOver = true }
        #expect(!isOver && processes[0].orders == ["terminate"])
        processes[0].end(.killed(15))
        #expect(isOver)
        rig.desk.endTurn()
        #expect(processes.count == 1)
    }

    @Test("keep their stream when they give up their registration")
    func unregistration() {
        absent()
        rig.arrive(1)
        rig.desk.endTurn()
        let app = rig.attached()
        rig.desk.unregister(topic, for: app.stream)
        #expect(rig.keeper.status(of: topic)?.supervisor.state == .running)
        rig.desk.left(app.stream)
        #expect(rig.keeper.status(of: topic)?.supervisor.state == .starting)
    }

    @Test("of which one cannot handle a notification lose that, not those behind it")
    func poison() throws {
        absent()
        rig.arrive(1, 2)
        rig.desk.endTurn()
        for attempt in 1...Limits.deliveryAttempts.usual {
            let app = rig.attached()
            #expect(app.identities == [1, 2], "attempt \(attempt)")
            rig.desk.left(app.stream, isBroken: true)
            rig.desk.endTurn()
            processes.last?.end(.killed(11))
            rig.keeper.handle(.timeIsUp, topic)
        }
        #expect(processes.count == Limits.deliveryAttempts.usual + 1)
        #expect(rig.attached().identities == [2])
        let dead = try #require(try rig.ground.state.deadLetters.letters().first)
        #expect(dead.parcel.identity.low == 1 && dead.attempts == Limits.deliveryAttempts.usual)
    }
}
