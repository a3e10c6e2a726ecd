import Foundation
import PostriderKit

/// Uses local notifications: reminds the user of tea.
final class Reminders: Sendable {
    private let center: UserNotificationCenter
    private let say: @Sendable (String) -> Void

    /// Observes the results of the application's reminders as long as this object exists.
    init(
        of application: Application, dispatcher: NotificationDispatcher,
        say: @escaping @Sendable (String) -> Void
    ) {
        center = application.userNotificationCenter
        self.say = say
        dispatcher.addObserver(
            self, calling: Reminders.fired, named: .localNotificationDidFire, sender: application)
        dispatcher.addObserver(
            self, calling: Reminders.answered, named: .responseDidArrive, sender: application)
    }

    /// Schedules a reminder for this many seconds from now.
    func remind(after seconds: Int) async throws {
        guard try await center.requestAuthorization(options: [.alert, .sound]) else {
            return say("the owner of this device allows no reminders")
        }
        let stop = NotificationAction(identifier: "stop", title: "Stop")
        let snooze = NotificationAction(
            identifier: "snooze", title: "Again in", textInputButtonTitle: "OK",
            textInputPlaceholder: "seconds")
        try await center.setNotificationCategories([
            NotificationCategory(identifier: "tea", actions: [stop, snooze])
        ])

        var content = NotificationContent()
        content.title = "Tea"
        content.body = "is ready."
        content.sound = .default
        content.categoryIdentifier = "tea"
        content.userInfo = ["cups": 2]
        let trigger = TimeIntervalNotificationTrigger(timeInterval: TimeInterval(seconds), repeats: false)
        try await center.add(NotificationRequest(identifier: "tea", content: content, trigger: trigger))
        say("a reminder is set")
    }

    private func fired(_ notification: DispatchedNotification) {
        guard let reminder = notification.typed(as: LocalNotificationDidFire.self) else { return }
        say("reminder\n  title: \(reminder.content.title)\n  body: \(reminder.content.body)")
    }

    private func answered(_ notification: DispatchedNotification) {
        guard let response = notification.typed(as: ResponseDidArrive.self) else { return }
        say("response\n  action: \(response.actionIdentifier)")
        guard response.actionIdentifier == "snooze", let seconds = response.userText.flatMap({ Int($0) })
        else {
            return
        }
        Task { try await remind(after: seconds) }
    }
}
