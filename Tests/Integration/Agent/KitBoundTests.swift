import Foundation
import PostriderCourier
import PostriderNotifications
import Testing

@testable import PostriderAgent
@testable import PostriderKit

@Suite("An application of the kit that says or is told very much", .timeLimit(.minutes(10)))
struct KitBoundTests {
    private let scratch = Scratch()
    private let dispatcher = NotificationDispatcher()
    private let topic = "com.example.one"

    private func application() -> Application {
        Application(topic: topic, socketPath: scratch.socket, dispatcher: dispatcher)
    }

    @Test("is refused with a sentence what no agent takes, and is heard with everything else")
    func refusal() async throws {
        let agent = try AgentFixture(scratch)
        let application = application()
        let center = application.userNotificationCenter
        try application.start()
        _ = try await center.requestAuthorization()
        var long = NotificationContent()
        long.body = String(repeating: "x", count: 20_000)
        await #expect(throws: UserNotificationError.self) {
            try await center.add(NotificationRequest(identifier: "a", content: long, trigger: nil))
        }
        let never = CalendarNotificationTrigger(dateMatching: DateComponents(hour: -1), repeats: false)
        await #expect(throws: UserNotificationError.self) {
            try await center.add(
                NotificationRequest(identifier: "b", content: NotificationContent(), trigger: never))
        }
        let many = (1...5000).map { "identifier \($0)" }
        await #expect(throws: UserNotificationError.self) {
            try await center.removePendingNotificationRequests(withIdentifiers: many)
        }
        #expect(try await center.pendingNotificationRequests().isEmpty)
        await application.end()
        await agent.kill()
    }

    @Test("that reports a failure at length is told of as having failed, as far as is kept")
    func longFailure() async throws {
        let agent = try AgentFixture(scratch)
        let (application, journal) = (application(), Journal<String>())
        let observation = dispatcher.addObserver(of: ResponseDidArrive.self, sender: application) {
            [weak application] response in
            application?.reportFailure(String(repeating: "No. ", count: 10_000))
            journal.note(response.actionIdentifier)
        }
        try application.start()
        while await agent.on({ $0.streams.attachments.isEmpty }) { await Task.yield() }
        await agent.on { [topic] parts in
            parts.deliveries.mostAttempts = 1
            try? parts.center.respond(
                to: .remote(payload: Array("{}".utf8)), of: topic, action: "swim", text: nil)
        }
        while await agent.on({ $0.letters.isEmpty }) { await Task.yield() }
        let reason = try #require(await agent.on { $0.letters.first })
        #expect(reason.hasPrefix("No. No.") && reason.utf8.count == Limits.reasonBytes)
        #expect(journal.events == ["swim"])
        await application.end()
        withExtendedLifetime(observation) {}
        await agent.kill()
    }

    @Test("is given a window of large notifications together with a long list of them")
    func largeAnswers() async throws {
        let agent = try AgentFixture(scratch)
        await agent.on { [topic] parts in
            let stream = AppStream(user: getuid()) { _ in }
            parts.center.take(
                CenterCall(call: 1, topic: topic, order: .requestAuthorization(options: 4)), from: stream)
            for number in 1...Limits.noticesPerTopic {
                var content = LocalContent()
                content.body = String(repeating: "x", count: Limits.localRequestBytes - 100)
                let request = LocalRequest(identifier: "\(number)", content: content, trigger: nil)
                parts.center.take(
                    CenterCall(call: 2, topic: topic, order: .add(request)), from: stream)
            }
        }
        let (application, journal) = (application(), Journal<String>())
        let observation = dispatcher.addObserver(of: LocalNotificationDidFire.self, sender: application) {
            journal.note($0.identifier)
        }
        // Both are sent as soon as the connection is there.
        try application.start()
        let delivered = try await application.userNotificationCenter.deliveredNotifications()
        #expect(delivered.count == Limits.noticesPerTopic)
        #expect(await journal.first(Limits.noticesPerTopic).count == Limits.noticesPerTopic)
        #expect(await agent.on { $0.attempts.allSatisfy { $0 == 0 } })
        await application.end()
        withExtendedLifetime(observation) {}
        await agent.kill()
    }

    @Test("may decide about many alerts and handle many notifications while its link is busy")
    func manyLetters() async throws {
        let application = application()
        try application.userNotificationCenter.willPresent { _ in [.banner] }
        for number in 1...20_000 as ClosedRange<UInt64> {
            application.asked(
                WillPresent(question: number, topic: topic, subject: .remote(payload: Array("{}".utf8))))
            if number % 100 == 0 {
                application.arrived(
                    NotificationIdentity(high: 1, low: number), .sample(number, identity: number))
            }
        }
        await application.end()
    }

    @Test("has no device token that came while it gave its topic up")
    func lateToken() async throws {
        let agent = try AgentFixture(scratch)
        let application = application()
        let token = Task { try await application.registerForRemoteNotifications() }
        while await agent.on({ $0.link.asked.isEmpty }) { await Task.yield() }
        let (gate, begun) = (DispatchSemaphore(value: 0), Journal<Void>())
        let topic = topic
        async let told: Void = agent.on { parts in
            begun.note(())
            gate.wait()
            parts.registrations.registered(Registered(topic: topic, deviceToken: .sample(1)))
        }
        _ = await begun.first(1)
        try application.unregisterForRemoteNotifications()
        gate.signal()
        await told
        while await agent.on({ $0.link.asked.last != "unregister \(topic)" }) { await Task.yield() }
        // This answer comes after the agent's answer to that.
        _ = try await application.userNotificationCenter.authorizationStatus()
        #expect(application.deviceToken == nil)
        token.cancel()
        _ = await token.result
        await application.end()
        await agent.kill()
    }
}
