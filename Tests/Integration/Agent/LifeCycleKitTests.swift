import Foundation
import PostriderCourier
import PostriderKit
import PostriderNotifications
import PostriderSystem
import PostriderTransport
import Testing

@testable import PostriderAgent

@Suite("A declared app of the kit, at a real agent's router", .timeLimit(.minutes(10)))
struct LifeCycleKitTests {
    private let scratch = Scratch()
    private let dispatcher = NotificationDispatcher()
    private let topic = RecordedApp.topic

    private func application() -> Application {
        Application(topic: topic, socketPath: scratch.socket, dispatcher: dispatcher)
    }

    /// Records the last part of the name of each notification.
    private func observe(_ application: Application, _ journal: Journal<String>) -> Observation {
        dispatcher.addObserver(sender: application) { notification in
            let name = notification.name.rawValue.dropFirst("postrider.".count)
            let reason = notification.userInfo[LaunchKey.reason]?.string
            let text = notification.userInfo["text"]?.string
            journal.note([String(name), reason, text].compactMap(\.self).joined(separator: " "))
        }
    }

    @Test("is told what happens to it, in order, and what it was started for after its start")
    func order() async throws {
        let agent = try AgentFixture(scratch, manifests: [.sample(exitsOnSuspend: true)])
        let first = application()
        try first.start()
        while await agent.on({ $0.streams.attachments.isEmpty }) { await Task.yield() }
        await first.end()
        while await agent.on({ !$0.streams.attachments.isEmpty }) { await Task.yield() }
        await agent.on { [topic] parts in
            try? parts.center.respond(
                to: .remote(payload: Array(#"{"text":"1"}"#.utf8)), of: topic, action: "open", text: nil)
        }
        while await agent.on({ $0.launcher.processes.isEmpty }) { await Task.yield() }
        let (application, journal) = (application(), Journal<String>())
        let observation = observe(application, journal)
        try application.start()
        // Waits until the decision about the app has arrived and the response has been handled.
        _ = await journal.first(4)
        await agent.on { [topic] in _ = $0.lifecycle.handle(.activate, topic) }
        _ = await journal.first(5)
        await agent.on { [topic] in _ = $0.lifecycle.handle(.suspend, topic) }
        let told = await journal.first(7).filter { $0 != "authorizationDidChange" }
        #expect(
            told == [
                "applicationDidFinishLaunching response", "applicationDidEnterBackground",
                "responseDidArrive", "applicationDidBecomeActive", "applicationDidEnterBackground",
                "applicationWillTerminate",
            ])
        await application.untilEnd()
        await agent.kill()
        withExtendedLifetime(observation) {}
    }

    @Test("that is started for a broadcast is told its channel with the reason, as when it arrives")
    func broadcast() async throws {
        let agent = try AgentFixture(scratch, manifests: [.sample()])
        let channel = ChannelIdentity(high: 1, low: 2)
        await agent.on { [topic] parts in
            let app = RecordedApp(user: UserAccount.own)
            parts.registrations.register(topic, for: app.stream)
            parts.router.left(app.stream)
            parts.deliveries.broadcast(.sample(1, identity: 1, channel: channel))
        }
        while await agent.on({ $0.launcher.processes.isEmpty }) { await Task.yield() }
        let (application, journal) = (application(), Journal<UserInfo>())
        let names: [NotificationName] = [.applicationDidFinishLaunching, .remoteNotificationDidArrive]
        let observations = names.map { name in
            dispatcher.addObserver(named: name, sender: application) { journal.note($0.userInfo) }
        }
        try application.start()
        let told = await journal.first(2)
        #expect(told.first?[LaunchKey.notification]?[ChannelKey.channel]?.string == "\(channel)")
        #expect(told.last?[ChannelKey.channel]?.string == "\(channel)")
        await application.end()
        await agent.kill()
        withExtendedLifetime(observations) {}
    }

    @Test("is told once, however often its agent is killed and comes back")
    func reconnection() async throws {
        let manifests = [AppManifest.sample()]
        let (application, journal) = (application(), Journal<String>())
        let observation = observe(application, journal)
        try application.start()
        for round in 1...3 {
            let agent = try AgentFixture(scratch, manifests: manifests)
            while await agent.on({ $0.streams.attachments.isEmpty }) { await Task.yield() }
            await agent.on { [topic] parts in
                try? parts.center.respond(
                    to: .remote(payload: Array("{}".utf8)), of: topic, action: "\(round)", text: nil)
            }
            while journal.events.count(where: { $0 == "responseDidArrive" }) < round { await Task.yield() }
            await agent.kill()
        }
        await application.end()
        withExtendedLifetime(observation) {}
        #expect(journal.events.count { $0.hasPrefix("applicationDidFinishLaunching") } == 1)
        #expect(journal.events.count { $0 == "applicationDidBecomeActive" } == 1)
        #expect(journal.events.count { $0 == "responseDidArrive" } == 3)
    }

    @Test("that reports a failure is given the notification again, until it is a dead letter")
    func failure() async throws {
        let agent = try AgentFixture(scratch)
        let (application, journal) = (application(), Journal<String>())
        let observation = dispatcher.addObserver(of: ResponseDidArrive.self, sender: application) {
            [weak application] response in
            application?.reportFailure("I cannot \(response.actionIdentifier).")
            journal.note(response.actionIdentifier)
        }
        try application.start()
        while await agent.on({ $0.streams.attachments.isEmpty }) { await Task.yield() }
        await agent.on { [topic] parts in
            parts.deliveries.mostAttempts = 3
            try? parts.center.respond(
                to: .remote(payload: Array("{}".utf8)), of: topic, action: "swim", text: nil)
        }
        for attempt in 1...3 {
            _ = await journal.first(attempt)
            while await agent.on({ parts in !parts.deliveries.redelivery.isEmpty || !parts.letters.isEmpty })
                == false
            {
                await Task.yield()
            }
            await agent.on { parts in
                parts.clock.pass(milliseconds: 10_000)
                parts.deliveries.redelivery.releaseDue()
            }
        }
        #expect(await agent.on { $0.letters } == ["I cannot swim."])
        #expect(journal.events == ["swim", "swim", "swim"])
        await application.end()
        withExtendedLifetime(observation) {}
        await agent.kill()
    }

    @Test("that ends in order in the middle of its work has not failed; one that is cut off has")
    func goodbye() async throws {
        let agent = try AgentFixture(scratch)
        let (application, journal) = (application(), Journal<String>())
        let observation = dispatcher.addObserver(named: .responseDidArrive, sender: application) {
            [weak application] _ in
            journal.note("first")
            application?.stop()
        }
        try application.start()
        while await agent.on({ $0.streams.attachments.isEmpty }) { await Task.yield() }
        await agent.on { [topic] parts in
            for action in ["1", "2"] {
                try? parts.center.respond(
                    to: .remote(payload: Array("{}".utf8)), of: topic, action: action, text: nil)
            }
        }
        await application.untilEnd()
        while await agent.on({ !$0.streams.attachments.isEmpty }) { await Task.yield() }
        #expect(await agent.on { $0.attempts } == [0])
        withExtendedLifetime(observation) {}
        await agent.kill()
        #expect(journal.events == ["first"])
    }
}

extension AgentFixture.Parts {
    /// The reasons of all dead letters.
    var letters: [String] { (try? parts.state.deadLetters.entries().map(\.reason)) ?? [] }

    /// The number of failed attempts for each waiting notification of the usual app.
    var attempts: [Int] {
        guard let record = parts.state.apps[RecordedApp.topic] else { return [] }
        return (try? parts.state.inbox.attempts(of: record.number).values.sorted()) ?? []
    }
}
