import PostriderCourier
import Synchronization

/// What the agent has reported of the application itself: its life cycle, and whether it may notify. The agent may
/// report the same change again. Each change returns the notification that is to be posted for it; nil if it is not
/// news.
final class AppReports: Sendable {
    private struct State {
        /// The life cycle as reported so far; nothing before the first report.
        var hasLaunched = false
        var isActive: Bool?
        var isTerminating = false
        var authorizationStatus: AuthorizationStatus?
    }

    private let state = Mutex(State())

    /// Whether the owner of the device lets the application notify; nil until the agent has reported it.
    var authorizationStatus: AuthorizationStatus? { state.withLock { $0.authorizationStatus } }

    /// The owner of the device has decided whether the application may notify.
    func changed(_ status: AuthorizationStatus) -> AuthorizationDidChange? {
        let isNews = state.withLock { state in
            defer { state.authorizationStatus = status }
            return state.authorizationStatus != status
        }
        return isNews ? AuthorizationDidChange(status: status) : nil
    }

    /// The life cycle has changed. ``ApplicationWillTerminate`` is the last notification of the application.
    func changed(_ change: LifeCycle) -> (any TypedNotification)? {
        let isNews = state.withLock { state in
            switch change.event {
            case .didFinishLaunching:
                defer { state.hasLaunched = true }
                return !state.hasLaunched
            case .didBecomeActive:
                defer { state.isActive = true }
                return state.isActive != true
            case .didEnterBackground:
                defer { state.isActive = false }
                return state.isActive != false
            case .willTerminate:
                defer { state.isTerminating = true }
                return !state.isTerminating
            }
        }
        guard isNews else { return nil }
        switch change.event {
        case .didFinishLaunching:
            return ApplicationDidFinishLaunching(reason: LaunchReason(change.launch))
        case .didBecomeActive: return ApplicationDidBecomeActive()
        case .didEnterBackground: return ApplicationDidEnterBackground()
        case .willTerminate: return ApplicationWillTerminate()
        }
    }
}
