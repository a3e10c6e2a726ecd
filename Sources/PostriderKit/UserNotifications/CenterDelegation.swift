import Dispatch
import FoundationEssentials
import PostriderCourier
import Synchronization

/// Who decides how the application's notifications are presented, and who receives responses to them: the delegate of
/// the user notification centre, or a closure.
final class CenterDelegation: Sendable {
    typealias Decision = @Sendable (ResponseDidArrive.Subject) -> NotificationPresentationOptions

    private struct State {
        var delegate = WeakDelegate()
        var decide: Decision?
        /// The delegate's observation of responses, and the response that is being posted.
        var observation: Observation?
        var responded: Responded?
    }

    private let state = Mutex(State())

    /// The delegate of the application.
    var delegate: (any UserNotificationCenterDelegate)? { state.withLock { $0.delegate.object } }

    /// Whether the application decides how alerts are presented.
    var decidesPresentation: Bool { state.withLock { $0.decide != nil || $0.delegate.object != nil } }

    /// Sets the delegate.
    func setDelegate(_ delegate: (any UserNotificationCenterDelegate)?) {
        state.withLock { $0.delegate.object = delegate }
    }

    /// Sets the closure that decides before the delegate does.
    func setDecision(_ decide: Decision?) { state.withLock { $0.decide = decide } }

    /// Keeps the observation of responses, unless there is one.
    func keep(_ observation: Observation) {
        state.withLock { state in state.observation = state.observation ?? observation }
    }

    /// Returns the notification to post for a response, and keeps the response for the delegate. This is called on the
    /// application's queue.
    func posting(_ responded: Responded) -> ResponseDidArrive {
        state.withLock { $0.responded = responded }
        return responded.response
    }

    /// Gives the response that is being posted to the delegate. This is called on the application's queue.
    func tellDelegate(of center: UserNotificationCenter) {
        let (responded, delegate) = state.withLock { ($0.responded, $0.delegate.object) }
        guard let responded, let delegate else { return }
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

    /// Decides how an alert is presented. This is called on the application's queue.
    ///
    /// - Parameter answer: called at most once, on any thread; not at all if nobody decides.
    func decide(
        _ question: WillPresent, of center: UserNotificationCenter,
        _ answer: @escaping @Sendable (Presentation) -> Void
    ) {
        let (decide, delegate) = state.withLock { ($0.decide, $0.delegate.object) }
        if let decide {
            return answer(Presentation(question, decide(question.subject.notification)))
        }
        guard let delegate else { return }
        let notification = question.subject.userNotification(identifier: question.identifier, at: nil)
        Task {
            let options = await delegate.userNotificationCenter(center, willPresent: notification)
            answer(Presentation(question, options))
        }
    }
}

extension Presentation {
    fileprivate init(_ question: WillPresent, _ options: NotificationPresentationOptions) {
        let bits = options.contains(.alert) ? options.union([.banner, .list]) : options
        self.init(question: question.question, options: PresentationOptions(rawValue: bits.rawValue))
    }
}

/// A weak reference to a delegate.
struct WeakDelegate {
    weak var object: (any UserNotificationCenterDelegate)?
}

extension Application {
    /// Sets the delegate of the user notification centre.
    func setDelegate(_ delegate: (any UserNotificationCenterDelegate)?) {
        delegation.setDelegate(delegate)
        if delegate != nil { observeResponses() }
        link.post(.presentationWish)
    }

    /// Observes responses from the time at which the first delegate is set.
    private func observeResponses() {
        delegation.keep(
            dispatcher.addObserver(named: .responseDidArrive, sender: self) { [weak self] _ in
                guard let self else { return }
                delegation.tellDelegate(of: UserNotificationCenter(self))
            })
    }

    /// Sets the closure that decides how alerts are presented.
    func decidePresentation(_ decide: CenterDelegation.Decision?) throws(ApplicationError) {
        try startLink()
        delegation.setDecision(decide)
        link.post(.presentationWish)
    }

    /// Handles a question of the agent, on the link's thread.
    func asked(_ question: WillPresent) {
        queue.async { [self] in
            delegation.decide(question, of: UserNotificationCenter(self)) { [link] in
                link.post(.presented($0))
            }
        }
    }
}
