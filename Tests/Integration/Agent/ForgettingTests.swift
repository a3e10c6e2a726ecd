import PostriderCourier
import PostriderNotifications
import PostriderSystem
import PostriderTransport
import Testing

@testable import PostriderAgent

@Suite("Apps that are gone from the device")
struct ForgettingTests {
    private let rig: DeskRig
    private let topic = RecordedApp.topic

    init() throws { rig = try DeskRig(manifests: [.sample()]) }

    private var processes: [RecordedLauncher.Process] { rig.launcher.processes }

    @Test("are forgotten with all that is theirs when their owner says so, and may come back as new ones")
    func forgetting() throws {
        let app = rig.attached()
        rig.desk.center.attach(topic, for: app.stream)
        rig.desk.registered(Registered(topic: topic, deviceToken: .sample(1)))
        #expect(try rig.desk.center.decide(.authorized, about: topic))
        rig.desk.left(app.stream)
        rig.arrive(1, 2)
        rig.desk.endTurn()
        let former = try #require(rig.ground.state.apps[topic])
        #expect(try rig.desk.forgetApp(topic))
        #expect(rig.line.asked.last == "unregister \(topic)")
        #expect(try rig.ground.state.inbox.count(of: former.number) == 0)
        // Until the relay knows, the app counts as one that has unregistered.
        #expect(rig.ground.state.apps[topic]?.token == nil && rig.ground.state.apps.unwanted == [topic])
        rig.desk.unregistered(topic)
        #expect(rig.ground.state.apps[topic] == nil)
        #expect(try !rig.desk.forgetApp(topic))
        let next = rig.attached()
        #expect(next.identities.isEmpty && rig.ground.state.apps[topic]?.number != former.number)
        rig.desk.center.attach(topic, for: next.stream)
        #expect(next.told.last == .authorization(Authorization(topic: topic, status: .notDetermined)))
    }

    @Test("that never registered at the relay are forgotten at once")
    func local() throws {
        let app = RecordedApp()
        rig.desk.center.attach(topic, for: app.stream)
        rig.desk.left(app.stream)
        #expect(try rig.desk.forgetApp(topic))
        #expect(rig.ground.state.apps[topic] == nil && rig.line.asked.isEmpty)
        try rig.kill()
        #expect(rig.ground.state.apps[topic] == nil)
    }

    @Test("of which a manifest is added are started for what waits for them, and are known as declared")
    func addition() {
        let app = RecordedApp()
        let other = "com.example.two"
        rig.desk.register(other, for: app.stream)
        rig.desk.left(app.stream)
        rig.arrive(1, topic: other)
        rig.desk.endTurn()
        #expect(processes.isEmpty)
        let (added, removed) = rig.keeper.declare([.sample(), .sample(other)])
        #expect(added == [other] && removed.isEmpty && rig.keeper.isDeclared(other))
        rig.desk.stir(other)
        rig.desk.endTurn()
        #expect(processes.map(\.reason) == ["remote-notification"])
    }

    @Test("and run already when their manifest is added are not started a second time")
    func runningAlready() {
        rig.desk.left(rig.attached().stream)
        let app = RecordedApp()
        let other = "com.example.two"
        rig.desk.register(other, for: app.stream)
        rig.desk.endTurn()
        _ = rig.keeper.declare([.sample(), .sample(other)])
        #expect(rig.keeper.status(of: other)?.supervisor.state == .running)
        rig.arrive(1, topic: other)
        rig.desk.endTurn()
        #expect(processes.isEmpty && app.identities == [1])
        rig.desk.left(app.stream)
        rig.desk.endTurn()
        #expect(processes.count == 1)
    }

    @Test("that are declared find room however many others are there")
    func room() {
        rig.desk.declare([topic: 1000])
        let stranger = RecordedApp(user: 7)
        for number in 1...Limits.registrationsPerDevice + 1 {
            rig.desk.center.attach("com.example.n\(number)", for: stranger.stream)
        }
        let reason = "This device has too many apps."
        #expect(
            stranger.told.contains {
                if case .refused(let told) = $0 { told.reason == reason } else { false }
            })
        let app = rig.attached()
        #expect(rig.ground.state.apps[topic] != nil && rig.line.asked == ["register \(topic)"])
        #expect(rig.ground.state.apps.records.count == Limits.registrationsPerDevice)
        withExtendedLifetime(app) {}
    }

    @Test("of another user now are given nothing of what comes for the topic, and told so")
    func newOwner() {
        let app = rig.attached(user: 1000)
        rig.desk.declare([topic: 1001])
        #expect(
            app.told.last
                == .refused(
                    Refused(
                        topic: topic, reason: "The topic \(topic) belongs to another user of this device.")))
        rig.arrive(1)
        rig.desk.endTurn()
        #expect(app.identities.isEmpty)
        #expect(rig.attached(user: 1001).identities == [1])
        rig.desk.declare([topic: 1001, "com.example.two": 1000])
        #expect(rig.desk.attachments[topic]?.streams.count == 1)
    }

    @Test("whose manifest is removed are ended, then forgotten, but not where something waits for them")
    func removal() throws {
        rig.desk.left(rig.attached().stream)
        rig.arrive(1)
        rig.desk.endTurn()
        let app = rig.attached()
        #expect(rig.keeper.declare([]).removed == [topic])
        #expect(!rig.keeper.isDeclared(topic) && rig.keeper.status(of: topic) != nil)
        #expect(app.told.last == .lifeCycle(LifeCycle(topic: topic, event: .willTerminate)))
        rig.desk.forgetUndeclared(topic)
        #expect(rig.ground.state.apps[topic]?.isWanted == true, "a notification waits for it")
        #expect(rig.desk.handled([1], by: app.stream))
        rig.desk.left(app.stream)
        rig.desk.endTurn()
        processes[0].end(.exited(0))
        #expect(rig.keeper.status(of: topic) == nil)
        rig.desk.forgetUndeclared(topic)
        #expect(rig.ground.state.apps.unwanted == [topic])
    }

    @Test("whose manifest comes back while they end are started again for what waits")
    func comeback() {
        rig.desk.left(rig.attached().stream)
        rig.arrive(1)
        rig.desk.endTurn()
        #expect(processes.count == 1)
        #expect(rig.keeper.declare([]).removed == [topic])
        #expect(rig.keeper.declare([.sample(exitsOnSuspend: true)]).added == [topic])
        #expect(rig.keeper.declare([.sample(exitsOnSuspend: true)]).added.isEmpty)
        rig.desk.endTurn()
        #expect(processes.count == 1)
        processes[0].end(.killed(15))
        rig.desk.endTurn()
        #expect(processes.count == 2 && rig.keeper.isDeclared(topic))
        #expect(rig.keeper.status(of: topic)?.supervisor.manifest.exitsOnSuspend == true)
    }

    @Test("and are not the agent's are left alone when their manifest is removed")
    func strangers() throws {
        let app = rig.attached()
        #expect(rig.keeper.declare([]).removed == [topic])
        rig.desk.forgetUndeclared(topic)
        #expect(rig.ground.state.apps[topic]?.isWanted == true && rig.keeper.status(of: topic) == nil)
        #expect(!app.told.contains(.lifeCycle(LifeCycle(topic: topic, event: .willTerminate))))
    }
}
