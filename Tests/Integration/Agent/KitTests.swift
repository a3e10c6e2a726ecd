import Foundation
import PostriderCourier
import PostriderKit
import PostriderNotifications
import Testing

@testable import PostriderAgent

@Suite("An application of the kit, at a real agent's router over a real socket", .timeLimit(.minutes(10)))
struct KitTests {
    private let scratch = Scratch()
    private let dispatcher = NotificationDispatcher()
    private let topic = "com.example.one"

    private func application() -> Application {
        Application(topic: topic, socketPath: scratch.socket, dispatcher: dispatcher)
    }

    private func observe(_ application: Application, _ journal: Journal<String>) -> Observation {
        dispatcher.addObserver(named: .remoteNotificationDidArrive, sender: application) { notification in
            journal.note(notification.userInfo["text"]?.string ?? "no text")
        }
    }

    private func registered(_ number: UInt64 = 1) -> Registered {
        Registered(topic: topic, deviceToken: .sample(number))
    }

    private func sample(_ number: UInt64) -> Deliver {
        .sample(number, identity: number, payload: #"{"text":"\#(number)"}"#)
    }

    @Test("is given its token, and its observers the user info, in order")
    func delivery() async throws {
        let agent = try AgentFixture(scratch)
        let (application, journal) = (application(), Journal<String>())
        let observation = observe(application, journal)
        async let token = application.registerForRemoteNotifications()
        while await agent.on({ $0.link.asked.isEmpty }) { await Task.yield() }
        await agent.on { [registered = registered()] in $0.registrations.registered(registered) }
        #expect(try await token == DeviceToken.sample(1).hex)
        #expect(application.deviceToken == DeviceToken.sample(1).hex)
        for number in 1...200 as ClosedRange<UInt64> { await agent.deliver(sample(number)) }
        #expect(await journal.first(200) == (1...200).map(String.init))
        await application.end()
        withExtendedLifetime(observation) {}
        await agent.kill()
        let state = try AgentState(directory: scratch.state, log: .none)
        #expect(try waiting(in: state).isEmpty)
    }

    @Test("waits for an agent that is not there yet, and comes back to one that was away")
    func reconnection() async throws {
        let (application, journal) = (application(), Journal<String>())
        let observation = observe(application, journal)
        async let token = application.registerForRemoteNotifications()
        for round in 1...3 as ClosedRange<UInt64> {
            let agent = try AgentFixture(scratch)
            while await agent.on({ $0.link.asked.isEmpty && round == 1 }) { await Task.yield() }
            await agent.on { [registered = registered()] in $0.registrations.registered(registered) }
            await agent.deliver(sample(round))
            #expect(await journal.first(Int(round)).last == String(round))
            await agent.kill()
        }
        #expect(try await token == DeviceToken.sample(1).hex)
        await application.end()
        withExtendedLifetime(observation) {}
        #expect(journal.events == ["1", "2", "3"])
    }

    @Test("calls no observer twice when the agent is killed before it could write down what was handled")
    func kill() async throws {
        let (application, journal) = (application(), Journal<String>())
        let observation = observe(application, journal)
        var agent = try AgentFixture(scratch) { $0.kill() }
        try await register(application, at: agent)
        await agent.on { [samples = [sample(1), sample(2), sample(3)]] parts in
            for sample in samples { parts.deliveries.delivered(sample) }
        }
        await agent.hasEnded()
        agent = try AgentFixture(scratch)
        await agent.deliver(sample(4))
        #expect(await journal.first(4) == ["1", "2", "3", "4"])
        await application.end()
        await agent.kill()
        withExtendedLifetime(observation) {}
        #expect(try waiting(in: AgentState(directory: scratch.state, log: .none)).isEmpty)
    }

    @Test("leaves what it was not given yet to the next time")
    func stopping() async throws {
        let agent = try AgentFixture(scratch)
        let (first, journal) = (application(), Journal<String>())
        let gate = DispatchSemaphore(value: 0)
        let observation = dispatcher.addObserver(named: .remoteNotificationDidArrive, sender: first) { _ in
            journal.note("first")
            gate.wait()
        }
        try await register(first, at: agent)
        for number in 1...3 as ClosedRange<UInt64> { await agent.deliver(sample(number)) }
        _ = await journal.first(1)
        let stopped = Task { await first.end() }
        while (try? await first.registerForRemoteNotifications()) != nil { await Task.yield() }
        gate.signal()
        await stopped.value
        withExtendedLifetime(observation) {}
        #expect(journal.events == ["first"])

        let (second, next) = (application(), Journal<String>())
        let observations = observe(second, next)
        _ = try await second.registerForRemoteNotifications()
        let given = await next.first(2)
        #expect(given == ["2", "3"])
        await second.end()
        withExtendedLifetime(observations) {}
        await agent.kill()
    }

    @Test("is told with a sentence when it is refused, and goes on without waiting when it is cancelled")
    func refusal() async throws {
        let agent = try AgentFixture(scratch)
        let nameless = Application(topic: "not a topic", socketPath: scratch.socket, dispatcher: dispatcher)
        await #expect(throws: ApplicationError.self) { try await nameless.registerForRemoteNotifications() }
        let application = application()
        let waiting = Task { try await application.registerForRemoteNotifications() }
        while await agent.on({ $0.link.asked.isEmpty }) { await Task.yield() }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        await application.end()
        await #expect(throws: ApplicationError.stopped) {
            try await application.registerForRemoteNotifications()
        }
        await nameless.end()
        await agent.kill()
    }

    @Test("gives its topic up, and may come back for it")
    func unregistration() async throws {
        let agent = try AgentFixture(scratch)
        let application = application()
        try await register(application, at: agent)
        try application.unregisterForRemoteNotifications()
        #expect(application.deviceToken == nil)
        while await agent.on({ [topic] in $0.link.asked.last != "unregister \(topic)" }) {
            await Task.yield()
        }
        async let token = application.registerForRemoteNotifications()
        while await agent.on({ [topic] in $0.link.asked.last != "register \(topic)" }) { await Task.yield() }
        await agent.on { [topic, again = registered(2)] parts in
            parts.registrations.unregistered(topic)
            parts.registrations.registered(again)
        }
        #expect(try await token == DeviceToken.sample(2).hex)
        await application.end()
        await agent.kill()
    }

    @Test("is registered in its environment, and told when another process of the app takes it elsewhere")
    func environment() async throws {
        let agent = try AgentFixture(scratch)
        let application = Application(
            topic: topic, environment: .development, socketPath: scratch.socket, dispatcher: dispatcher)
        let failures = Journal<String>()
        let observation = dispatcher.addObserver(named: .registrationDidFail, sender: application) {
            failures.note($0.userInfo[RegistrationKey.reason]?.string ?? "no reason")
        }
        async let token = application.registerForRemoteNotifications()
        while await agent.on({ $0.link.asked.isEmpty }) { await Task.yield() }
        #expect(await agent.on { $0.link.asked } == ["register \(topic) in development"])
        await agent.on { [topic] in
            $0.registrations.registered(
                Registered(topic: topic, deviceToken: .sample(1), environment: .development))
        }
        #expect(try await token == DeviceToken.sample(1).hex)
        let other = self.application()
        async let otherToken = other.registerForRemoteNotifications()
        while await agent.on({ $0.link.asked.count < 2 }) { await Task.yield() }
        await agent.on { [registered = registered(2)] in $0.registrations.registered(registered) }
        #expect(try await otherToken == DeviceToken.sample(2).hex)
        #expect(
            await failures.first(1)
                == ["Another process has registered the app in the production environment."])
        #expect(application.deviceToken == nil)
        await application.end()
        await other.end()
        withExtendedLifetime(observation) {}
        await agent.kill()
    }

    private func register(_ application: Application, at agent: AgentFixture) async throws {
        async let token = application.registerForRemoteNotifications()
        while await agent.on({ $0.link.asked.isEmpty }) { await Task.yield() }
        await agent.on { [registered = registered()] in $0.registrations.registered(registered) }
        _ = try await token
    }

    private func waiting(in state: AgentState) throws -> [UInt64] {
        var identities: [UInt64] = []
        for app in state.apps.records.values {
            try state.inbox.forEachPending(of: app.number, after: 0) { _, parcel in
                identities.append(parcel.identity.low)
                return true
            }
        }
        return identities
    }
}
