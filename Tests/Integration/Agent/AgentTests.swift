import Foundation
import PostriderClients
import PostriderCourier
import PostriderKit
import PostriderNotifications
import PostriderRelay
import PostriderSystem
import PostriderTransport
import Testing

@testable import PostriderAgent

@Suite("An agent of a real relay", .timeLimit(.minutes(10)))
struct AgentTests {
    private let scratch = Scratch()
    private let dispatcher = NotificationDispatcher()

    private func application(_ journal: Journal<UserInfo>) -> (Application, Observation) {
        let application = Application(
            topic: RelayInProcess.topic, socketPath: scratch.socket, dispatcher: dispatcher)
        let observation = dispatcher.addObserver(named: .remoteNotificationDidArrive, sender: application) {
            journal.note($0.userInfo)
        }
        return (application, observation)
    }

    @Test("enrols, registers, and brings a provider's push to an app's observer")
    func mainPath() async throws {
        let host = try await RelayInProcess()
        let agent = try await Agent.start(host.agentConfiguration(scratch), log: .none)
        let journal = Journal<UserInfo>()
        let (application, observation) = application(journal)
        let token = try await application.registerForRemoteNotifications()
        let payload = #"{"aps":{"alert":{"title":"Hello","body":"World"}},"order":7}"#
        #expect(try host.push(payload, to: token) == 200)
        let userInfo = try #require(await journal.first(1).first)
        #expect(userInfo["aps"]?["alert"]?["title"]?.string == "Hello")
        #expect(userInfo["order"]?.integer == 7)
        await application.end()
        await agent.stop()
        await host.relay.stop()
        withExtendedLifetime(observation) {}
    }

    @Test("shows what is pushed to a closed app that may notify, without waiting for it", .bug(id: "A2"))
    func closedApp() async throws {
        let host = try await RelayInProcess()
        var configuration = try host.agentConfiguration(scratch)
        configuration.authorization = .authorized
        let lines = Journal<String>()
        let log = Log { _, line in lines.note(line) }
        let agent = try await Agent.start(configuration, log: log)
        let (application, observation) = application(Journal<UserInfo>())
        let token = try await application.registerForRemoteNotifications()
        #expect(try await application.userNotificationCenter.requestAuthorization())
        await application.end()
        for count in 1...2 {
            #expect(try host.push(#"{"aps":{"alert":"\#(count)"}}"#, to: token) == 200)
            var shown = 0
            while shown < count {
                shown = lines.events.count { $0.contains("has an alert for its user") }
                await Task.yield()
            }
        }
        await agent.stop()
        await host.relay.stop()
        withExtendedLifetime(observation) {}
    }

    @Test("keeps its identity and its apps' tokens when it starts again, and what came meanwhile is not lost")
    func restart() async throws {
        let host = try await RelayInProcess()
        let journal = Journal<UserInfo>()
        let (application, observation) = application(journal)
        var agent = try await Agent.start(host.agentConfiguration(scratch), log: .none)
        let token = try await application.registerForRemoteNotifications()
        await agent.stop()
        for number in 1...5 { #expect(try host.push(#"{"number":\#(number)}"#, to: token) == 200) }
        agent = try await Agent.start(host.agentConfiguration(scratch, key: nil), log: .none)
        #expect(await journal.first(5).map { $0["number"]?.integer } == [1, 2, 3, 4, 5])
        #expect(application.deviceToken == token)
        await application.end()
        // No app is attached: the agent stores what comes.
        #expect(try host.push(#"{"number":6}"#, to: token) == 200)
        let (next, nextObservation) = self.application(journal)
        #expect(try await next.registerForRemoteNotifications() == token)
        #expect(await journal.first(6).last?["number"]?.integer == 6)
        await next.end()
        await agent.stop()
        await host.relay.stop()
        withExtendedLifetime((observation, nextObservation)) {}
        #expect(journal.events.count == 6)
    }

    @Test("ends only when the apps have that it has started, those too that never attached")
    func appsFirst() async throws {
        let host = try await RelayInProcess()
        var configuration = try host.agentConfiguration(scratch)
        let (started, ended) = (scratch.path + "/started", scratch.path + "/ended")
        let script =
            "trap 'sleep 0.3; : > \(ended); exit 0' TERM; : > \(started); while :; do sleep 0.1; done"
        configuration.manifests = [
            AppManifest(
                topic: RelayInProcess.topic, user: UserAccount.own, program: "/bin/sh",
                arguments: ["-c", script], mayRunInBackground: true)
        ]
        let agent = try await Agent.start(configuration, log: .none)
        let (application, observation) = application(Journal<UserInfo>())
        let token = try await application.registerForRemoteNotifications()
        await application.end()
        #expect(try host.push("{}", to: token) == 200)
        while !FileManager.default.fileExists(atPath: started) { await Task.yield() }
        await agent.stop()
        #expect(FileManager.default.fileExists(atPath: ended))
        await host.relay.stop()
        withExtendedLifetime(observation) {}
    }

    @Test("tells an app that the relay does not know its topic")
    func unknownTopic() async throws {
        let host = try await RelayInProcess()
        let agent = try await Agent.start(host.agentConfiguration(scratch), log: .none)
        let stranger = Application(
            topic: "com.example.unknown", socketPath: scratch.socket, dispatcher: dispatcher)
        await #expect(throws: ApplicationError.self) { try await stranger.registerForRemoteNotifications() }
        await stranger.end()
        await agent.stop()
        await host.relay.stop()
    }

    @Test("says why it cannot start without a key, or with one that it cannot read")
    func keyless() async throws {
        let host = try await RelayInProcess()
        var keyless = try host.agentConfiguration(scratch, key: nil)
        keyless.unreadableKeyFile = "/etc/postrider/enrolment.key"
        let failure = await #expect(throws: AgentFailure.self) {
            try await Agent.start(keyless, log: .none)
        }
        #expect(failure?.description.contains("the file /etc/postrider/enrolment.key cannot be read") == true)
        await host.relay.stop()
    }

    /// Makes a log whose lines are recorded.
    private func makeLog() -> (lines: Journal<String>, log: Log) {
        let lines = Journal<String>()
        return (lines, Log { _, line in lines.note(line) })
    }

    private func line(_ text: String, in lines: Journal<String>) async {
        while !lines.events.contains(where: { $0.contains(text) }) { await Task.yield() }
    }

    @Test("goes on with a wrong key, says so, and is there for the apps", .bug(id: "A10"))
    func wrongKey() async throws {
        let host = try await RelayInProcess()
        let (lines, log) = makeLog()
        var configuration = try host.agentConfiguration(scratch, key: "enrol-wrong")
        configuration.authorization = .authorized
        let agent = try await Agent.start(configuration, log: log)
        await line("correct the enrolment key; next attempt in", in: lines)
        try await expectLocalNotification()
        await agent.stop()
        try await agent.untilEnd()
        await host.relay.stop()
    }

    /// Schedules a local notification and expects its delivery.
    private func expectLocalNotification() async throws {
        let application = Application(
            topic: RelayInProcess.topic, socketPath: scratch.socket, dispatcher: dispatcher)
        let center = application.userNotificationCenter
        #expect(try await center.requestAuthorization())
        let content = NotificationContent()
        let trigger = TimeIntervalNotificationTrigger(timeInterval: 3600, repeats: false)
        try await center.add(NotificationRequest(identifier: "a", content: content, trigger: trigger))
        #expect(try await center.pendingNotificationRequests().map(\.identifier) == ["a"])
        await application.end()
    }

    @Test(
        "enrols anew where the relay does not know it any more, and its apps get new tokens", .bug(id: "A10"))
    func restoredRelay() async throws {
        let host = try await RelayInProcess()
        let journal = Journal<UserInfo>()
        let (application, observation) = application(journal)
        var configuration = try host.agentConfiguration(scratch)
        configuration.authorization = .authorized
        let agent = try await Agent.start(configuration, log: .none)
        let token = try await application.registerForRemoteNotifications()
        await agent.stop()
        await host.relay.stop()
        // The same relay, but it does not know this device.
        let other = try await RelayInProcess()
        let (lines, log) = makeLog()
        configuration = try other.agentConfiguration(scratch)
        configuration.authorization = .authorized
        let next = try await Agent.start(configuration, log: log)
        await line("enrolling again", in: lines)
        while application.deviceToken == token || application.deviceToken == nil { await Task.yield() }
        let fresh = try #require(application.deviceToken)
        #expect(try other.push(#"{"number":1}"#, to: fresh) == 200)
        #expect(await journal.first(1).map { $0["number"]?.integer } == [1])
        await application.end()
        try await expectLocalNotification()
        await next.stop()
        try await next.untilEnd()
        await other.relay.stop()
        withExtendedLifetime(observation) {}
    }

    @Test(
        "waits for a relay that does not know it where it has no key, and is there for the apps",
        .bug(id: "A10"))
    func unknownWithoutKey() async throws {
        let host = try await RelayInProcess()
        let first = try await Agent.start(host.agentConfiguration(scratch), log: .none)
        let (application, observation) = application(Journal<UserInfo>())
        _ = try await application.registerForRemoteNotifications()
        await application.end()
        await first.stop()
        await host.relay.stop()
        let other = try await RelayInProcess()
        let (lines, log) = makeLog()
        var configuration = try other.agentConfiguration(scratch, key: nil)
        configuration.authorization = .authorized
        let agent = try await Agent.start(configuration, log: log)
        await line("give the agent an enrolment key", in: lines)
        try await expectLocalNotification()
        await agent.stop()
        try await agent.untilEnd()
        await other.relay.stop()
        withExtendedLifetime(observation) {}
    }
}
