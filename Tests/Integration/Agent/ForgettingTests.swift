import PostriderCourier
import PostriderNotifications
import PostriderSystem
import PostriderTransport
import Testing

@testable import PostriderAgent

@Suite("Apps that are gone from the device")
struct ForgettingTests {
    private let fixture: RouterFixture
    private let topic = RecordedApp.topic

    init() throws { fixture = try RouterFixture(manifests: [.sample()]) }

    private var processes: [RecordedLauncher.Process] { fixture.launcher.processes }

    @Test("are forgotten with all that is theirs when their owner says so, and may come back as new ones")
    func forgetting() throws {
        let app = fixture.attached()
        fixture.registrations.attach(topic, for: app.stream)
        fixture.registrations.registered(Registered(topic: topic, deviceToken: .sample(1)))
        #expect(try fixture.authorizations.decide(.authorized, about: topic))
        fixture.router.left(app.stream)
        fixture.arrive(1, 2)
        fixture.router.endTurn()
        let former = try #require(fixture.files.state.apps[topic])
        #expect(try fixture.registrations.forgetApp(topic))
        #expect(fixture.link.asked.last == "unregister \(topic)")
        #expect(try fixture.files.state.inbox.count(of: former.number) == 0)
        // Until the relay knows, the app counts as one that has unregistered.
        #expect(fixture.files.state.apps[topic]?.token == nil && fixture.files.state.apps.unwanted == [topic])
        fixture.registrations.unregistered(topic)
        #expect(fixture.files.state.apps[topic] == nil)
        #expect(try !fixture.registrations.forgetApp(topic))
        let next = fixture.attached()
        #expect(next.identities.isEmpty && fixture.files.state.apps[topic]?.number != former.number)
        fixture.registrations.attach(topic, for: next.stream)
        #expect(next.told.last == .authorization(Authorization(topic: topic, status: .notDetermined)))
    }

    @Test("that never registered at the relay are forgotten at once")
    func local() throws {
        let app = RecordedApp()
        fixture.registrations.attach(topic, for: app.stream)
        fixture.router.left(app.stream)
        #expect(try fixture.registrations.forgetApp(topic))
        #expect(fixture.files.state.apps[topic] == nil && fixture.link.asked.isEmpty)
        try fixture.kill()
        #expect(fixture.files.state.apps[topic] == nil)
    }

    @Test("of which a manifest is added are started for what waits for them, and are known as declared")
    func addition() {
        let app = RecordedApp()
        let other = "com.example.two"
        fixture.registrations.register(other, for: app.stream)
        fixture.router.left(app.stream)
        fixture.arrive(1, topic: other)
        fixture.router.endTurn()
        #expect(processes.isEmpty)
        let (added, removed) = fixture.lifecycle.declare([.sample(), .sample(other)])
        #expect(added == [other] && removed.isEmpty && fixture.lifecycle.isDeclared(other))
        fixture.streams.markDue(other)
        fixture.router.endTurn()
        #expect(processes.map(\.reason) == ["remote-notification"])
    }

    @Test("and run already when their manifest is added are not started a second time")
    func runningAlready() {
        fixture.router.left(fixture.attached().stream)
        let app = RecordedApp()
        let other = "com.example.two"
        fixture.registrations.register(other, for: app.stream)
        fixture.router.endTurn()
        _ = fixture.lifecycle.declare([.sample(), .sample(other)])
        #expect(fixture.lifecycle.status(of: other)?.supervisor.state == .running)
        fixture.arrive(1, topic: other)
        fixture.router.endTurn()
        #expect(processes.isEmpty && app.identities == [1])
        fixture.router.left(app.stream)
        fixture.router.endTurn()
        #expect(processes.count == 1)
    }

    @Test("that are declared find room however many others are there")
    func room() {
        fixture.declare(users: [topic: 1000])
        let stranger = RecordedApp(user: 7)
        for number in 1...Limits.registrationsPerDevice + 1 {
            fixture.registrations.attach("com.example.n\(number)", for: stranger.stream)
        }
        let reason = "This device has too many apps."
        #expect(
            stranger.told.contains {
                if case .refused(let told) = $0 { told.reason == reason } else { false }
            })
        let app = fixture.attached()
        #expect(fixture.files.state.apps[topic] != nil && fixture.link.asked == ["register \(topic)"])
        #expect(fixture.files.state.apps.records.count == Limits.registrationsPerDevice)
        withExtendedLifetime(app) {}
    }

    @Test("of another user now are given nothing of what comes for the topic, and told so")
    func newOwner() {
        let app = fixture.attached(user: 1000)
        fixture.declare(users: [topic: 1001])
        #expect(
            app.told.last
                == .refused(
                    Refused(
                        topic: topic, reason: "The topic \(topic) belongs to another user of this device.")))
        fixture.arrive(1)
        fixture.router.endTurn()
        #expect(app.identities.isEmpty)
        #expect(fixture.attached(user: 1001).identities == [1])
        fixture.declare(users: [topic: 1001, "com.example.two": 1000])
        #expect(fixture.streams.attachments[topic]?.streams.count == 1)
    }

    @Test("whose manifest is removed are ended, then forgotten, but not where something waits for them")
    func removal() throws {
        fixture.router.left(fixture.attached().stream)
        fixture.arrive(1)
        fixture.router.endTurn()
        let app = fixture.attached()
        #expect(fixture.lifecycle.declare([]).removed == [topic])
        #expect(!fixture.lifecycle.isDeclared(topic) && fixture.lifecycle.status(of: topic) != nil)
        #expect(app.told.last == .lifeCycle(LifeCycle(topic: topic, event: .willTerminate)))
        fixture.registrations.forgetUndeclared(topic)
        #expect(fixture.files.state.apps[topic]?.isWanted == true, "a notification waits for it")
        #expect(fixture.deliveries.handled([1], by: app.stream))
        fixture.router.left(app.stream)
        fixture.router.endTurn()
        processes[0].end(.exited(0))
        #expect(fixture.lifecycle.status(of: topic) == nil)
        fixture.registrations.forgetUndeclared(topic)
        #expect(fixture.files.state.apps.unwanted == [topic])
    }

    @Test("whose manifest comes back while they end are started again for what waits")
    func comeback() {
        fixture.router.left(fixture.attached().stream)
        fixture.arrive(1)
        fixture.router.endTurn()
        #expect(processes.count == 1)
        #expect(fixture.lifecycle.declare([]).removed == [topic])
        #expect(fixture.lifecycle.declare([.sample(exitsOnSuspend: true)]).added == [topic])
        #expect(fixture.lifecycle.declare([.sample(exitsOnSuspend: true)]).added.isEmpty)
        fixture.router.endTurn()
        #expect(processes.count == 1)
        processes[0].end(.killed(15))
        fixture.router.endTurn()
        #expect(processes.count == 2 && fixture.lifecycle.isDeclared(topic))
        #expect(fixture.lifecycle.status(of: topic)?.supervisor.manifest.exitsOnSuspend == true)
    }

    @Test("and are not the agent's are left alone when their manifest is removed")
    func strangers() throws {
        let app = fixture.attached()
        #expect(fixture.lifecycle.declare([]).removed == [topic])
        fixture.registrations.forgetUndeclared(topic)
        #expect(
            fixture.files.state.apps[topic]?.isWanted == true && fixture.lifecycle.status(of: topic) == nil)
        #expect(!app.told.contains(.lifeCycle(LifeCycle(topic: topic, event: .willTerminate))))
    }
}
