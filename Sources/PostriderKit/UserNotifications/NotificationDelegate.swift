import Synchronization

/// Decides how notifications are presented and receives responses, like `UNUserNotificationCenterDelegate`. A
/// delegate implements each method with a completion handler, or as an async function, or not at all. The methods are
/// called in the background, and several may run at once.
public protocol UserNotificationCenterDelegate: AnyObject, Sendable {
    /// Decides how a notification is presented while the app runs. It must return within three seconds. Without this
    /// method, the notification is presented in full.
    func userNotificationCenter(
        _ center: UserNotificationCenter, willPresent notification: UserNotification
    ) async -> NotificationPresentationOptions

    /// Decides how a notification is presented, and calls the completion handler with the decision.
    func userNotificationCenter(
        _ center: UserNotificationCenter, willPresent notification: UserNotification,
        withCompletionHandler completionHandler: @escaping (NotificationPresentationOptions) -> Void)

    /// Handles the user's response to a notification. The response counts as handled when this returns.
    func userNotificationCenter(
        _ center: UserNotificationCenter, didReceive response: any NotificationResponse
    ) async

    /// Handles the user's response to a notification. The response counts as handled when the completion handler is
    /// called.
    func userNotificationCenter(
        _ center: UserNotificationCenter, didReceive response: any NotificationResponse,
        withCompletionHandler completionHandler: @escaping () -> Void)

    /// Opens the app's own notification settings, because the user asked for them. An app offers them with
    /// ``AuthorizationOptions/providesAppNotificationSettings``.
    func userNotificationCenter(
        _ center: UserNotificationCenter, openSettingsFor notification: UserNotification?)
}

extension UserNotificationCenterDelegate {
    /// Calls the form with a completion handler.
    public func userNotificationCenter(
        _ center: UserNotificationCenter, willPresent notification: UserNotification
    ) async -> NotificationPresentationOptions {
        await withCheckedContinuation { continuation in
            let answer = FirstCall { continuation.resume(returning: $0) }
            userNotificationCenter(center, willPresent: notification) { answer($0) }
        }
    }

    /// Presents the notification in full.
    public func userNotificationCenter(
        _ center: UserNotificationCenter, willPresent notification: UserNotification,
        withCompletionHandler completionHandler: @escaping (NotificationPresentationOptions) -> Void
    ) { completionHandler([.badge, .sound, .list, .banner]) }

    /// Calls the form with a completion handler.
    public func userNotificationCenter(
        _ center: UserNotificationCenter, didReceive response: any NotificationResponse
    ) async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let answer = FirstCall { (_: Void) in continuation.resume() }
            userNotificationCenter(center, didReceive: response) { answer(()) }
        }
    }

    /// Does nothing.
    public func userNotificationCenter(
        _ center: UserNotificationCenter, didReceive response: any NotificationResponse,
        withCompletionHandler completionHandler: @escaping () -> Void
    ) { completionHandler() }

    /// Does nothing.
    public func userNotificationCenter(
        _ center: UserNotificationCenter, openSettingsFor notification: UserNotification?
    ) {}
}

/// Passes on only the first call of a completion handler, so that a second call does not end the app.
final class FirstCall<Value: Sendable>: Sendable {
    private let body: @Sendable (Value) -> Void
    private let isCalled = Atomic(false)

    init(_ body: @escaping @Sendable (Value) -> Void) { self.body = body }

    func callAsFunction(_ value: Value) {
        if !isCalled.exchange(true, ordering: .acquiringAndReleasing) { body(value) }
    }
}

extension UserNotificationCenter {
    /// The delegate, which is not kept alive. Set it before ``Application/start()``, because queued notifications
    /// arrive then.
    public weak var delegate: (any UserNotificationCenterDelegate)? {
        get { (try? application)?.delegation.delegate ?? Application.waitingDelegate }
        nonmutating set {
            if let application = try? application {
                application.setDelegate(newValue)
            } else {
                Application.waitingDelegate = newValue
            }
        }
    }
}
