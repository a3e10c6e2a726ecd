import PostriderCourier
import PostriderNotifications

/// How the relay is asked to send notifications, so that it wakes the device only for apps that can do something about
/// them. A topic that is not listed is enabled.
enum ReceptionPolicy {
    /// What matters of one app.
    struct App {
        let topic: String
        /// Whether it has a stream.
        let isAttached: Bool
        /// Whether the agent would start it for a notification: it has a manifest and is not in a crash loop.
        let isStartable: Bool
        /// Whether it may run in the background.
        let mayRunInBackground: Bool
        /// The owner's decision about its alerts.
        let status: AuthorizationStatus

        /// What the relay is asked for: enabled, opportunistic or ignored.
        var choice: Choice {
            // An alert is shown, whether the app runs or not.
            if isAttached || status.allowsNotifications { return .enabled }
            guard isStartable else { return .opportunistic }
            // The app could only run in the foreground, and its owner does not want to be disturbed by it.
            return status == .denied && !mayRunInBackground ? .ignored : .enabled
        }
    }

    enum Choice: Equatable { case enabled, opportunistic, ignored }

    /// The preferences for these apps, as the relay is told them.
    static func reception(of apps: [App], savesPower: Bool, batteryPercent: Int? = nil) -> Reception {
        func topics(_ choice: Choice) -> [String] {
            apps.filter { $0.choice == choice }.map(\.topic).sorted()
        }
        return Reception(
            savesPower: savesPower, opportunistic: topics(.opportunistic), ignored: topics(.ignored),
            batteryPercent: batteryPercent)
    }
}
