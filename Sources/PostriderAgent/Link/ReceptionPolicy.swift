import PostriderCourier
import PostriderNotifications

/// How the relay is asked to send what waits, so that it wakes the device only for apps that can do something about it.
/// A topic that is not listed is enabled.
enum ReceptionPolicy {
    /// One app, as far as that matters.
    struct App {
        let topic: String
        /// Whether it has a stream.
        let isAttached: Bool
        /// Whether the agent starts it for what arrives: it has a manifest, and is in no crash loop.
        let isStartable: Bool
        /// Whether it may run without being seen.
        let mayRunInBackground: Bool
        /// What the owner of the device says about its alerts.
        let status: AuthorizationStatus

        /// What it asks for: enabled, opportunistic or ignored.
        var choice: Choice {
            // What there is to show is shown, whether the app runs or not.
            if isAttached || status.allowsNotifications { return .enabled }
            guard isStartable else { return .opportunistic }
            // It would have to be shown, and its owner does not want that.
            return status == .denied && !mayRunInBackground ? .ignored : .enabled
        }
    }

    enum Choice: Equatable { case enabled, opportunistic, ignored }

    /// What is said to the relay of these apps.
    static func reception(of apps: [App], savesPower: Bool) -> Reception {
        func topics(_ choice: Choice) -> [String] {
            apps.filter { $0.choice == choice }.map(\.topic).sorted()
        }
        return Reception(
            savesPower: savesPower, opportunistic: topics(.opportunistic), ignored: topics(.ignored))
    }
}
