import Foundation
import PostriderCourier
import PostriderKit
import PostriderNotifications
import Testing

@testable import PostriderAgent

@Suite("A user notification centre of the kit, at a real agent's router", .timeLimit(.minutes(10)))
struct CenterKitTests {
    private let scratch = Scratch()
    private let dispatcher = NotificationDispatcher()
    private let topic = "com.example.one"

    private func application() throws -> Application {
        let application = Application(topic: topic, socketPath: scratch.socket, dispatcher: dispatcher)
        try application.start()
        return application
    }

    /// Starts an agent that allows its apps to notify.
    private func agent(
        aheadSeconds: Int64 = 0, onHandled: @escaping @Sendable (AgentFixture.Parts) -> Void = { _ in }
    ) throws -> AgentFixture {
        try AgentFixture(scratch, aheadMilliseconds: aheadSeconds * 1000, onHandled: onHandled)
    }

    private func observe(_ application: Application, _ journal: Journal<String>) -> Observation {
        dispatcher.addObserver(of: LocalNotificationDidFire.self, sender: application) { notification in
            journal.note(notification.identifier + notification.content.title)
        }
    }

    private func request(
        _ identifier: String, _ title: String = "", after seconds: TimeInterval = 1000, repeats: Bool = false
    ) -> NotificationRequest {
        var content = NotificationContent()
        content.title = title
        let trigger = TimeIntervalNotificationTrigger(timeInterval: seconds, repeats: repeats)
        return NotificationRequest(identifier: identifier, content: content, trigger: trigger)
    }

    @Test("brings a notification to its observers when its moment comes, with all that it says")
    func firing() async throws {
        let agent = try agent()
        let (application, journal) = (try application(), Journal<DispatchedNotification>())
        let observation = dispatcher.addObserver(named: .localNotificationDidFire) { journal.note($0) }
        let center = application.userNotificationCenter
        #expect(try await center.requestAuthorization(options: [.alert, .badge]))
        var content = NotificationContent()
        content.title = "Tea"
        content.body = "is ready"
        content.badge = 3
        content.sound = .default
        content.userInfo = ["cup": ["size": 2.5, "names": ["a", nil]]]
        content.categoryIdentifier = "tea"
        content.threadIdentifier = "kitchen"
        let trigger = TimeIntervalNotificationTrigger(timeInterval: 240, repeats: false)
        try await center.add(NotificationRequest(identifier: "tea", content: content, trigger: trigger))
        await agent.pass(seconds: 241)
        let notification = try #require(await journal.first(1).first)
        #expect(notification.sender === application)
        #expect(notification.userInfo[UserNotificationKey.title] == "Tea")
        #expect(notification.userInfo[UserNotificationKey.userInfo]?["cup"]?["size"] == 2.5)
        let typed = try #require(notification.typed(as: LocalNotificationDidFire.self))
        #expect(typed.identifier == "tea" && typed.content == content)
        let delivered = try await center.deliveredNotifications()
        #expect(delivered.map(\.request.content) == [content] && delivered.map(\.date) == [typed.date])
        try await center.removeAllDeliveredNotifications()
        #expect(try await center.deliveredNotifications().isEmpty)
        await application.end()
        await agent.kill()
        withExtendedLifetime(observation) {}
    }

    @Test("replaces, lists and takes back what is pending")
    func pending() async throws {
        let agent = try agent()
        let (application, journal) = (try application(), Journal<String>())
        let observation = observe(application, journal)
        let center = application.userNotificationCenter
        _ = try await center.requestAuthorization()
        let morning = DateComponents(
            timeZone: TimeZone(identifier: "Europe/Berlin"), hour: 7, minute: 30, weekday: 2)
        let moment = CalendarNotificationTrigger(dateMatching: morning, repeats: true)
        let content = NotificationContent()
        try await center.add(NotificationRequest(identifier: "c", content: content, trigger: moment))
        for identifier in ["a", "b"] { try await center.add(request(identifier, "1")) }
        try await center.add(request("a", "2", after: 2000))
        let pending = try await center.pendingNotificationRequests()
        #expect(Set(pending.map { $0.identifier + $0.content.title }) == ["a2", "b1", "c"])
        let calendar = pending.first { $0.identifier == "c" }?.trigger as? CalendarNotificationTrigger
        #expect(calendar == moment)
        try await center.removePendingNotificationRequests(withIdentifiers: ["b", "c"])
        await agent.pass(seconds: 3000)
        #expect(await journal.first(1) == ["a2"])
        try await center.add(request("d"))
        try await center.removeAllPendingNotificationRequests()
        #expect(try await center.pendingNotificationRequests().isEmpty)
        await application.end()
        await agent.kill()
        withExtendedLifetime(observation) {}
        #expect(journal.events == ["a2"])
    }

    @Test("keeps what is pending while the agent is away, and delivers what came due meanwhile")
    func restart() async throws {
        var agent = try agent()
        let (application, journal) = (try application(), Journal<String>())
        let observation = observe(application, journal)
        let center = application.userNotificationCenter
        _ = try await center.requestAuthorization()
        try await center.add(request("soon", after: 1000))
        try await center.add(request("later", after: 9000))
        await agent.kill()
        agent = try self.agent(aheadSeconds: 5000)
        #expect(await journal.first(1) == ["soon"])
        await agent.pass(seconds: 4001)
        #expect(await journal.first(2) == ["soon", "later"])
        await application.end()
        await agent.kill()
        withExtendedLifetime(observation) {}
    }

    @Test("delivers of what was missed for days what is a day old at most, and lists the rest")
    func missed() async throws {
        var agent = try agent()
        let (application, journal) = (try application(), Journal<String>())
        let observation = observe(application, journal)
        let center = application.userNotificationCenter
        _ = try await center.requestAuthorization()
        try await center.add(request("once"))
        try await center.add(request("hourly", after: 3600, repeats: true))
        await agent.kill()
        agent = try self.agent(aheadSeconds: 3 * 86_400)
        #expect(await journal.first(1) == ["hourly"])
        #expect(try await center.missedNotifications().map(\.request.identifier) == ["once"])
        #expect(try await center.pendingNotificationRequests().map(\.identifier) == ["hourly"])
        await application.end()
        await agent.kill()
        withExtendedLifetime(observation) {}
        #expect(journal.events == ["hourly"])
    }

    @Test("calls no observer twice when the agent is killed before it could write down what was handled")
    func kill() async throws {
        var agent = try agent { $0.kill() }
        let (application, journal) = (try application(), Journal<String>())
        let observation = observe(application, journal)
        let center = application.userNotificationCenter
        _ = try await center.requestAuthorization()
        for identifier in ["a", "b"] { try await center.add(request(identifier)) }
        await agent.pass(seconds: 1001)
        await agent.hasEnded()
        agent = try self.agent(aheadSeconds: 1001)
        try await center.add(request("c", after: 10))
        await agent.pass(seconds: 11)
        #expect(await journal.first(3) == ["a", "b", "c"])
        await application.end()
        await agent.kill()
        withExtendedLifetime(observation) {}
        #expect(journal.events == ["a", "b", "c"])
    }

    @Test("waits for an agent that is not there, until its task is cancelled or the application stopped")
    func absence() async throws {
        let application = try application()
        let center = application.userNotificationCenter
        let cancelled = Task { try await center.pendingNotificationRequests() }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        async let allowed = center.requestAuthorization()
        let agent = try agent()
        #expect(try await allowed)
        await agent.kill()
        let stopped = Task { try await center.authorizationStatus() }
        await application.end()
        await #expect(throws: ApplicationError.stopped) { try await stopped.value }
        await #expect(throws: ApplicationError.stopped) { try await center.authorizationStatus() }
    }

    @Test("is told what the owner of the device decides, and refused what is not allowed")
    func authorization() async throws {
        let agent = try AgentFixture(scratch, answerToAll: .notDetermined)
        let application = Application(topic: topic, socketPath: scratch.socket, dispatcher: dispatcher)
        let journal = Journal<PostriderKit.AuthorizationStatus>()
        let observation = dispatcher.addObserver(of: AuthorizationDidChange.self, sender: application) {
            journal.note($0.status)
        }
        try application.start()
        let center = application.userNotificationCenter
        #expect(await journal.first(1) == [.notDetermined])
        await #expect(throws: UserNotificationError.notificationsNotAllowed) {
            try await center.add(request("a"))
        }
        async let isAllowed = center.requestAuthorization(options: .alert)
        while await agent.on({ $0.authorizations.hasWaitingCalls == false }) { await Task.yield() }
        await agent.on { [topic] in _ = try? $0.authorizations.decide(.denied, about: topic) }
        #expect(try await !isAllowed)
        #expect(try await center.authorizationStatus() == .denied)
        await agent.on { [topic] in _ = try? $0.authorizations.decide(.authorized, about: topic) }
        #expect(await journal.first(3) == [.notDetermined, .denied, .authorized])
        try await center.add(request("a"))
        await application.end()
        await agent.kill()
        withExtendedLifetime(observation) {}
    }

    @Test("brings the user's response to its observers, and keeps categories")
    func response() async throws {
        let agent = try agent()
        let (application, journal) = (try application(), Journal<ResponseDidArrive>())
        let observation = dispatcher.addObserver(of: ResponseDidArrive.self, sender: application) {
            journal.note($0)
        }
        let center = application.userNotificationCenter
        let category = NotificationCategory(
            identifier: "message",
            actions: [
                NotificationAction(identifier: "delete", title: "Delete", options: .destructive),
                NotificationAction(
                    identifier: "reply", title: "Reply", textInputButtonTitle: "Send",
                    textInputPlaceholder: "…"),
            ])
        try await center.setNotificationCategories([category])
        #expect(try await center.notificationCategories() == [category])
        let notice = LocalNotice(request: .sample("a", nil, title: "T"), at: Moment(milliseconds: 1000))
        await agent.on { [topic] parts in
            let center = parts.center
            try? center.respond(to: .local(notice), of: topic, action: "reply", text: "yes")
            let payload = Array(#"{"aps":{}}"#.utf8)
            try? center.respond(
                to: .remote(payload: payload), of: topic, action: ResponseDidArrive.defaultActionIdentifier,
                text: nil)
        }
        let responses = await journal.first(2)
        var content = NotificationContent()
        content.title = "T"
        let firing = LocalNotificationDidFire(
            identifier: "a", content: content, date: Date(timeIntervalSince1970: 1))
        #expect(
            responses == [
                ResponseDidArrive(to: .local(firing), actionIdentifier: "reply", userText: "yes"),
                ResponseDidArrive(
                    to: .remote(RemoteNotificationDidArrive(userInfo: ["aps": [:]])),
                    actionIdentifier: ResponseDidArrive.defaultActionIdentifier),
            ])
        await application.end()
        await agent.kill()
        withExtendedLifetime(observation) {}
    }
}
