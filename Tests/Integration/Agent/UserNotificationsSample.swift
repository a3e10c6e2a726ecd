import Foundation
import PostriderKit

// Code of an iOS app, without the prefixes of Apple's names. UserNotificationsParityTests runs it.

/// An app that uses completion handlers.
struct PlainSample {
    let center = UserNotificationCenter.current()

    func ask(_ done: @escaping @Sendable (Bool, NotificationSettings) -> Void) {
        center.requestAuthorization(options: [.alert, .sound]) { [center] granted, error in
            guard granted, error == nil else { return }
            center.getNotificationSettings { settings in
                switch settings.authorizationStatus {
                case .authorized, .provisional, .ephemeral: done(granted, settings)
                case .notDetermined, .denied: break
                }
            }
        }
    }

    func declareCategories() {
        let like = NotificationAction(identifier: "like", title: "Like", options: [.foreground])
        let reply = TextInputNotificationAction(
            identifier: "reply", title: "Reply", options: [.authenticationRequired],
            textInputButtonTitle: "Send", textInputPlaceholder: "Message")
        let message = NotificationCategory(
            identifier: "message", actions: [like, reply], intentIdentifiers: ["INSendMessageIntent"],
            hiddenPreviewsBodyPlaceholder: "A message",
            options: [.customDismissAction, .hiddenPreviewsShowTitle, .hiddenPreviewsShowSubtitle])
        center.setNotificationCategories([message])
    }

    func content(_ title: String) -> MutableNotificationContent {
        let content = MutableNotificationContent()
        content.title = title
        content.subtitle = "S"
        content.body = "B"
        content.badge = 3
        content.sound = NotificationSound.default
        content.userInfo = ["id": 7, "tags": ["a", "b"]]
        content.categoryIdentifier = "message"
        content.threadIdentifier = "thread-1"
        content.interruptionLevel = .timeSensitive
        content.relevanceScore = 0.25
        return content
    }

    func schedule(_ done: @escaping @Sendable ((any Error)?) -> Void) {
        let soon = TimeIntervalNotificationTrigger(timeInterval: 600, repeats: false)
        center.removeAllPendingNotificationRequests()
        center.add(NotificationRequest(identifier: "gone", content: content("Gone"), trigger: soon))
        center.removePendingNotificationRequests(withIdentifiers: ["gone"])
        var noon = DateComponents()
        noon.hour = 12
        let daily = CalendarNotificationTrigger(dateMatching: noon, repeats: true)
        center.add(NotificationRequest(identifier: "noon", content: content("Noon"), trigger: daily))
        center.add(
            NotificationRequest(identifier: "soon", content: content("Soon"), trigger: soon),
            withCompletionHandler: done)
    }

    func schedulePast(_ done: @escaping @Sendable ((any Error)?) -> Void) {
        let past = DateComponents(year: 2020, month: 1, day: 1)
        let never = CalendarNotificationTrigger(dateMatching: past, repeats: false)
        center.add(NotificationRequest(identifier: "past", content: content("Past"), trigger: never)) {
            error in done(error)
        }
    }

    func clear(_ done: @escaping @Sendable ((any Error)?) -> Void) {
        center.removeDeliveredNotifications(withIdentifiers: ["other"])
        center.removeAllDeliveredNotifications()
        center.setBadgeCount(5)
        center.setBadgeCount(0, withCompletionHandler: done)
    }
}

/// A delegate with completion handlers.
final class PlainDelegate: NSObject, UserNotificationCenterDelegate {
    let journal = Journal<String>()

    func userNotificationCenter(
        _ center: UserNotificationCenter, willPresent notification: UserNotification,
        withCompletionHandler completionHandler: @escaping (NotificationPresentationOptions) -> Void
    ) {
        let request = notification.request
        let isPush = request.trigger is PushNotificationTrigger
        journal.note("present \(request.identifier) \(request.content.title) \(isPush)")
        completionHandler(request.identifier == "quiet" ? [] : [.banner, .list, .sound, .badge])
        completionHandler([])
    }

    func userNotificationCenter(
        _ center: UserNotificationCenter, didReceive response: any NotificationResponse,
        withCompletionHandler completionHandler: @escaping () -> Void
    ) {
        let identifier = response.notification.request.identifier
        switch response.actionIdentifier {
        case NotificationDefaultActionIdentifier: journal.note("open \(identifier)")
        case NotificationDismissActionIdentifier: journal.note("dismiss \(identifier)")
        case "reply":
            let text = (response as? TextInputNotificationResponse)?.userText
            journal.note("reply \(identifier) \(text ?? "-")")
        default: journal.note("\(response.actionIdentifier) \(identifier)")
        }
        completionHandler()
    }

    func userNotificationCenter(
        _ center: UserNotificationCenter, openSettingsFor notification: UserNotification?
    ) { journal.note("settings \(notification?.request.identifier ?? "-")") }
}

/// A delegate with async methods.
final class AwaitingDelegate: UserNotificationCenterDelegate {
    let journal = Journal<String>()

    func userNotificationCenter(
        _ center: UserNotificationCenter, willPresent notification: UserNotification
    ) async -> NotificationPresentationOptions {
        await Task.yield()
        journal.note("present \(notification.request.identifier)")
        return [.alert, .sound]
    }

    func userNotificationCenter(
        _ center: UserNotificationCenter, didReceive response: any NotificationResponse
    ) async {
        await Task.yield()
        journal.note("\(response.actionIdentifier) \(response.notification.request.identifier)")
    }
}

/// A delegate that implements one method only.
final class SilentDelegate: UserNotificationCenterDelegate {}

/// A service extension as in Xcode's template. `contentHandler` accepts content, not a mutable copy of it.
final class SampleService: NotificationServiceExtension {
    var contentHandler: ((NotificationContent) -> Void)?
    var bestAttempt: MutableNotificationContent?

    override func didReceive(
        _ request: NotificationRequest,
        withContentHandler contentHandler: @escaping (NotificationContent) -> Void
    ) {
        self.contentHandler = contentHandler
        bestAttempt = request.content.mutableCopy() as? MutableNotificationContent
        if let bestAttempt {
            bestAttempt.title = "\(bestAttempt.title) [modified]"
            contentHandler(bestAttempt.content)
        }
    }

    override func serviceExtensionTimeWillExpire() {
        if let contentHandler, let bestAttempt { contentHandler(bestAttempt.content) }
    }
}
