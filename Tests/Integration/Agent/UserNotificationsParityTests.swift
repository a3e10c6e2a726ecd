import Foundation
import PostriderCourier
import PostriderNotifications
import Synchronization
import Testing

@testable import PostriderAgent
@testable import PostriderKit

@Suite("Code written for UserNotifications, with its prefixes taken off", .timeLimit(.minutes(10)))
struct UserNotificationsParityTests {
    private let scratch = Scratch()
    private let topic = "com.example.parity"
    private let page = ParityPage(section: "UserNotifications")

    /// Returns the value that a method passes to its completion handler.
    private func said<Value: Sendable>(_ ask: (@escaping @Sendable (Value) -> Void) -> Void) async -> Value {
        await withCheckedContinuation { continuation in ask { continuation.resume(returning: $0) } }
    }

    @Test("compiles, runs at an agent, and means what the page says of it", .bug(id: "K5"))
    func sample() async throws {
        let agent = try AgentFixture(scratch)
        let application = Application(
            topic: topic, socketPath: scratch.socket, dispatcher: NotificationDispatcher())
        application.makeCurrent()
        try application.start()
        let sample = PlainSample()
        try await authorization(sample, agent)
        try await requests(sample, agent)
        try await content(sample)
        try await delegates(sample, agent)
        try await awaiting(sample)
        try service()
        await application.end()
        await agent.kill()
        page.expectAllShown()
    }

    @Test("does not compile where the page says that something is not here")
    func absence() throws {
        let names = page.absent
        #expect(names.count > 8)
        let sources = try page.kitSources()
        #expect(sources.contains("NotificationServiceExtension"))
        for name in names {
            let pattern = #"\b(func|var|let|case|class|struct|enum|protocol|typealias) \#(name)\b"#
            #expect(sources.range(of: pattern, options: .regularExpression) == nil, "\(name) is here")
        }
    }

    private func authorization(_ sample: PlainSample, _ agent: AgentFixture) async throws {
        let before = await sample.center.notificationSettings()
        let (granted, settings): (Bool, NotificationSettings) = await said { done in
            sample.ask { done(($0, $1)) }
        }
        page.check("`UNUserNotificationCenter`, `current()`", settings.authorizationStatus == .authorized)
        page.check("`requestAuthorization(options:completionHandler:)`", granted)
        let awaited = await sample.center.notificationSettings()
        page.check(
            "`notificationSettings()`, `getNotificationSettings(completionHandler:)`",
            before.authorizationStatus == .notDetermined && before.alertSetting == .notSupported
                && settings == awaited)
        page.check(
            "`authorizationStatus`, `alertSetting`, `soundSetting`, `badgeSetting`, `criticalAlertSetting`",
            settings.alertSetting == .enabled && settings.soundSetting == .enabled
                && settings.badgeSetting == .notSupported
                && settings.criticalAlertSetting == .notSupported)
        page.check(
            "`alertStyle`, `notificationCenterSetting`, `lockScreenSetting`, `timeSensitiveSetting`",
            settings.alertStyle == .banner && settings.notificationCenterSetting == .enabled
                && settings.lockScreenSetting == .enabled && settings.timeSensitiveSetting == .enabled)
        let isRefused = await said { sample.center.setBadgeCount(1, withCompletionHandler: $0) }
        page.check(
            "`UNError`", isRefused as? UserNotificationError == .notificationsNotAllowed)
        let more = try await sample.center.requestAuthorization(options: [
            .badge, .criticalAlert, .provisional,
        ])
        let all = await sample.center.notificationSettings()
        page.check("`requestAuthorization(options:)`", more)
        page.check(
            "`.badge`, `.sound`, `.alert`", all.badgeSetting == .enabled && all.soundSetting == .enabled)
        page.check("`.criticalAlert`", all.criticalAlertSetting == .enabled)
        page.check("`.provisional`", all.authorizationStatus == .authorized)
        page.check("`UNAuthorizationStatus`", AuthorizationStatus.ephemeral.rawValue == 4)
        _ = try await sample.center.requestAuthorization(options: .providesAppNotificationSettings)
        page.check(
            "`.providesAppNotificationSettings`",
            await sample.center.notificationSettings().providesAppNotificationSettings)
    }

    private func requests(_ sample: PlainSample, _ agent: AgentFixture) async throws {
        sample.declareCategories()
        let categories = await said { sample.center.getNotificationCategories(completionHandler: $0) }
        let category = try #require(categories.first)
        page.check("`UNNotificationAction(identifier:title:options:)`", category.actions[0].title == "Like")
        page.check(
            "`UNTextInputNotificationAction(…)`", category.actions[1].textInputButtonTitle == "Send")
        page.check(
            "`UNNotificationCategory(identifier:actions:intentIdentifiers:options:)`",
            category.intentIdentifiers == ["INSendMessageIntent"])
        page.check(
            "`hiddenPreviewsBodyPlaceholder`, `.hiddenPreviewsShowTitle`, `.hiddenPreviewsShowSubtitle`",
            category.hiddenPreviewsBodyPlaceholder == "A message"
                && category.options.contains([.hiddenPreviewsShowTitle, .hiddenPreviewsShowSubtitle]))
        let error = await said { sample.schedule($0) }
        let pending = await said { sample.center.getPendingNotificationRequests(completionHandler: $0) }
        page.check("`add(_:withCompletionHandler:)`", error == nil)
        page.check(
            "`removePendingNotificationRequests(withIdentifiers:)` and the like, where nothing is awaited",
            Set(pending.map(\.identifier)) == ["noon", "soon"])
        let noon = pending.first { $0.identifier == "noon" }?.trigger as? CalendarNotificationTrigger
        page.check(
            "`UNCalendarNotificationTrigger`", noon?.repeats == true && noon?.dateComponents.hour == 12)
        let soon = pending.first { $0.identifier == "soon" }?.trigger as? TimeIntervalNotificationTrigger
        page.check("`UNTimeIntervalNotificationTrigger`", soon?.timeInterval == 600)
        page.check("`UNNotificationRequest(identifier:content:trigger:)`", pending.count == 2)
        let past = CalendarNotificationTrigger(
            dateMatching: DateComponents(year: 2020, month: 1, day: 1), repeats: false)
        page.check(
            "`nextTriggerDate()`", past.nextTriggerDate() == nil && noon?.nextTriggerDate() != nil)
        let refusal = await said { sample.schedulePast($0) }
        let left = await said { sample.center.getPendingNotificationRequests(completionHandler: $0) }
        page.check(
            "a trigger whose moment has passed",
            refusal is UserNotificationError && !left.contains { $0.identifier == "past" })
        await agent.pass(seconds: 601)
        let delivered = await said { sample.center.getDeliveredNotifications(completionHandler: $0) }
        page.check(
            "`getPendingNotificationRequests`, `getDeliveredNotifications`, `getNotificationCategories`",
            delivered.map(\.request.identifier) == ["soon"])
        page.check("`UNNotification`", delivered.first?.request.content.title == "Soon")
        let badge = await sample.center.notificationSettings().badgeCount
        let cleared = await said { sample.clear($0) }
        page.check(
            "`setBadgeCount(_:)`, `setBadgeCount(_:withCompletionHandler:)`", badge == 3 && cleared == nil)
    }

    private func content(_ sample: PlainSample) async throws {
        let content = sample.content("T")
        let plain = NotificationContent(content)
        page.check("`UNMutableNotificationContent`", plain.title == "T" && plain.body == "B")
        page.check("`content.badge`", plain.badge == Int?(3))
        page.check(
            "`content.sound`",
            plain.sound == .default && NotificationSound(named: NotificationSoundName("bell")).name == "bell")
        page.check("`content.userInfo`", plain.userInfo["id"]?.integer == 7)
        page.check("`categoryIdentifier`", plain.categoryIdentifier == "message")
        page.check("`threadIdentifier`", plain.threadIdentifier == "thread-1")
        page.check("`interruptionLevel`", plain.interruptionLevel.rawValue == 2)
        let soon = try await sample.center.pendingNotificationRequests().first
        page.check("`relevanceScore`", soon?.content.relevanceScore == 0.25)
        page.check("`supportsContentExtensions`", !sample.center.supportsContentExtensions)
    }

    /// Shows an alert of the app, and responds as its user.
    private func respond(_ agent: AgentFixture, _ identifier: String, _ action: String?, _ text: String?)
        async
    {
        await agent.on { [topic] parts in
            _ = parts.presenter.respond(to: identifier, of: topic, action: action, text: text)
        }
    }

    private func delegates(_ sample: PlainSample, _ agent: AgentFixture) async throws {
        let (center, delegate) = (sample.center, PlainDelegate())
        center.delegate = delegate
        page.check("`delegate`", center.delegate === delegate)
        // When this answer is there, the agent knows that the app decides.
        _ = try await center.authorizationStatus()
        for identifier in ["a", "quiet"] {
            try await center.add(
                NotificationRequest(identifier: identifier, content: sample.content("T"), trigger: nil))
        }
        let asked = await delegate.journal.first(2)
        _ = try await center.authorizationStatus()
        let alerts = await agent.on { $0.presenter.alerts.map(\.key.identifier) }
        page.check(
            "`userNotificationCenter(_:willPresent:withCompletionHandler:)`",
            asked == ["present a T false", "present quiet T false"] && alerts == ["a"])
        await respond(agent, "a", "reply", "yes")
        page.check(
            "`UNTextInputNotificationResponse`", await delegate.journal.first(3).last == "reply a yes")
        try await center.add(NotificationRequest(identifier: "b", content: sample.content("T"), trigger: nil))
        _ = await delegate.journal.first(4)
        _ = try await center.authorizationStatus()
        await respond(agent, "b", nil, nil)
        page.check(
            "`userNotificationCenter(_:didReceive:withCompletionHandler:)`",
            await delegate.journal.first(5).last == "open b")
        page.check(
            "`UNNotificationDefaultActionIdentifier`, `UNNotificationDismissActionIdentifier`",
            NotificationDismissActionIdentifier == ResponseDidArrive.dismissActionIdentifier)
        let subject = Responded.Subject.remote(payload: Array(#"{"aps":{"alert":{"title":"P"}}}"#.utf8))
        let now = Moment(milliseconds: 1_800_000_000_000)
        await agent.on { [topic] parts in
            for action in [Responded.dismissAction, Responded.settingsAction] {
                try? parts.center.respond(
                    to: subject, of: topic, action: action, text: nil, identifier: "push", at: now)
            }
        }
        let events = await delegate.journal.first(7)
        page.check("`.customDismissAction`", events.contains("dismiss push"))
        page.check("`userNotificationCenter(_:openSettingsFor:)`", events.contains("settings push"))
        let push = subject.userNotification(identifier: "push", at: now)
        page.check(
            "`UNPushNotificationTrigger`",
            push.request.trigger is PushNotificationTrigger && push.request.content.title == "P")
        page.check("`UNNotificationResponse`", push.date == Date(now))
    }

    private func awaiting(_ sample: PlainSample) async throws {
        let (center, delegate) = (sample.center, AwaitingDelegate())
        center.delegate = delegate
        try await center.setNotificationCategories([])
        try await center.removeAllPendingNotificationRequests()
        try await center.add(NotificationRequest(identifier: "c", content: sample.content("T"), trigger: nil))
        let asked = await delegate.journal.first(1)
        page.check("`userNotificationCenter(_:willPresent:)`", asked == ["present c"])
        _ = try await center.authorizationStatus()
        page.check(
            "`add(_:)`", try await center.deliveredNotifications().map(\.request.identifier).contains("c"))
        let pending = try await center.pendingNotificationRequests()
        page.check(
            "`removePendingNotificationRequests(withIdentifiers:)` and the like, where the caller awaits",
            pending.isEmpty)
        let delivered = try await center.deliveredNotifications().map(\.request.identifier)
        let categories = try await center.notificationCategories()
        page.check(
            "`pendingNotificationRequests()`, `deliveredNotifications()`, `notificationCategories()`",
            categories.isEmpty && delivered.contains("c"))
        page.check(
            "`UNNotificationPresentationOptions`",
            NotificationPresentationOptions([.banner, .list, .sound, .badge]).rawValue == 27)
        let silent = SilentDelegate()
        page.check(
            "a delegate without `willPresent`",
            await silent.userNotificationCenter(
                center, willPresent: UserNotification(request: pastRequest, date: Date())
            ).rawValue == 27)
        await delegate.userNotificationCenter(
            center,
            didReceive: PlainNotificationResponse(
                notification: UserNotification(request: pastRequest, date: Date()), actionIdentifier: "x"))
        page.check("`userNotificationCenter(_:didReceive:)`", delegate.journal.events.last == "x p")
        center.delegate = nil
    }

    private var pastRequest: NotificationRequest {
        NotificationRequest(identifier: "p", content: NotificationContent(), trigger: nil)
    }

    private func service() throws {
        let service = SampleService()
        var outputs: [UserInfo] = []
        let payload: UserInfo = [
            "aps": ["alert": ["title": "T", "body": "B"], "mutable-content": 1], "secret": "s",
        ]
        service.receive(payload) { data in
            if let output = try? UserInfo(json: data) { outputs.append(output) }
        }
        service.serviceExtensionTimeWillExpire()
        page.check(
            "`UNNotificationServiceExtension`",
            outputs.count == 2 && outputs[0]["aps"]?["alert"]?["title"] == "T [modified]"
                && outputs[0]["aps"]?["alert"]?["body"] == "B" && outputs[0]["secret"] == "s")
    }
}
