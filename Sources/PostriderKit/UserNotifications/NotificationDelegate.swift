import FoundationEssentials
import PostriderCourier
import PostriderNotifications
import PostriderTransport
import Synchronization

/// Decides about notifications and hears of responses, in the manner of `UNUserNotificationCenterDelegate`. A delegate
/// implements each method with a completion handler, or as an async function, or not at all. The methods are called in
/// the background, also several at once.
public protocol UserNotificationCenterDelegate: AnyObject, Sendable {
    /// A notification is about to be presented while the app runs: the answer says how, and must come within three
    /// seconds. A delegate without this method has it presented with all that it has.
    func userNotificationCenter(
        _ center: UserNotificationCenter, willPresent notification: UserNotification
    ) async -> NotificationPresentationOptions

    /// The same, with a completion handler.
    func userNotificationCenter(
        _ center: UserNotificationCenter, willPresent notification: UserNotification,
        withCompletionHandler completionHandler: @escaping (NotificationPresentationOptions) -> Void)

    /// The user has done something with a notification. It counts as handled when this returns.
    func userNotificationCenter(
        _ center: UserNotificationCenter, didReceive response: any NotificationResponse
    ) async

    /// The same, with a completion handler: it counts as handled when that is called.
    func userNotificationCenter(
        _ center: UserNotificationCenter, didReceive response: any NotificationResponse,
        withCompletionHandler completionHandler: @escaping () -> Void)

    /// The user asks for the app's own settings of its notifications, which it offers with
    /// ``AuthorizationOptions/providesAppNotificationSettings``.
    func userNotificationCenter(
        _ center: UserNotificationCenter, openSettingsFor notification: UserNotification?)
}

extension UserNotificationCenterDelegate {
    /// Asks the form with a completion handler.
    public func userNotificationCenter(
        _ center: UserNotificationCenter, willPresent notification: UserNotification
    ) async -> NotificationPresentationOptions {
        await withCheckedContinuation { continuation in
            let answer = FirstCall { continuation.resume(returning: $0) }
            userNotificationCenter(center, willPresent: notification) { answer($0) }
        }
    }

    /// Presents it with all that it has.
    public func userNotificationCenter(
        _ center: UserNotificationCenter, willPresent notification: UserNotification,
        withCompletionHandler completionHandler: @escaping (NotificationPresentationOptions) -> Void
    ) { completionHandler([.badge, .sound, .list, .banner]) }

    /// Asks the form with a completion handler.
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

/// Passes on the first call of a completion handler: one that is called twice is no reason to end the app.
final class FirstCall<Value: Sendable>: Sendable {
    private let body: @Sendable (Value) -> Void
    private let isCalled = Atomic(false)

    init(_ body: @escaping @Sendable (Value) -> Void) { self.body = body }

    func callAsFunction(_ value: Value) {
        if !isCalled.exchange(true, ordering: .acquiringAndReleasing) { body(value) }
    }
}

extension UserNotificationCenter {
    /// What decides about notifications and hears of responses; it is not kept alive. Set it before
    /// ``Application/start()``: what has waited for the app arrives then.
    public weak var delegate: (any UserNotificationCenterDelegate)? {
        get { (try? application)?.delegate ?? Application.waitingDelegate }
        nonmutating set {
            if let application = try? application {
                application.setDelegate(newValue)
            } else {
                Application.waitingDelegate = newValue
            }
        }
    }
}

extension Application {
    /// What decides about the application's notifications.
    var delegate: (any UserNotificationCenterDelegate)? { state.withLock { $0.delegate.object } }

    func setDelegate(_ delegate: (any UserNotificationCenterDelegate)?) {
        let mailbox = state.withLock { state in
            state.delegate.object = delegate
            return state.mailbox
        }
        if delegate != nil { observeResponses() }
        mailbox?.postEvenIfFull(.presentationWish)
    }

    /// From the first delegate on.
    private func observeResponses() {
        let observation = dispatcher.addObserver(named: .responseDidArrive, sender: self) { [weak self] _ in
            self?.tellDelegate()
        }
        state.withLock { state in state.responseObservation = state.responseObservation ?? observation }
    }

    /// On the application's queue, while a response is posted.
    private func tellDelegate() {
        let (responded, delegate) = state.withLock { ($0.responded, $0.delegate.object) }
        guard let responded, let delegate else { return }
        let center = UserNotificationCenter(self)
        guard responded.action != Responded.settingsAction else {
            let notification = responded.delegateResponse.notification
            return delegate.userNotificationCenter(center, openSettingsFor: notification)
        }
        guard let share = Handling.current?.share(), share.begin() else { return }
        Task {
            await delegate.userNotificationCenter(center, didReceive: responded.delegateResponse)
            share.finish(.handled)
        }
    }

    /// What an observer is told of a response; on the application's queue.
    func posting(_ responded: Responded) -> ResponseDidArrive {
        state.withLock { $0.responded = responded }
        return responded.response
    }
}

/// Holds a delegate without keeping it alive.
struct WeakDelegate {
    weak var object: (any UserNotificationCenterDelegate)?
}
