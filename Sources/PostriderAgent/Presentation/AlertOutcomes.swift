import PostriderCourier
import PostriderNotifications
import PostriderStorage
import PostriderTransport

/// Stores what becomes of alerts: where they are shown, what users do with them, and that they are gone.
final class AlertOutcomes {
    private let state: AgentState
    private let center: LocalNotifications
    private let lifecycle: AppLifecycle
    private let reporter: Reporter
    private let trouble: StateTrouble
    /// Responses and removals that the disk has refused.
    private var unstored: [Outcome] = []
    private let scheduler: any Scheduler
    private lazy var retry = scheduler.makeTimer { [unowned self] in storeAgain() }

    /// What becomes of an alert.
    enum Outcome {
        /// It is shown at this place, or is not shown any more.
        case shown(Alert, at: AlertRegister.Place?)
        /// A user has responded to it.
        case response(Alert, action: String?, text: String?)
        /// It is gone, perhaps because its user has dismissed it.
        case gone(Alert, isDismissed: Bool)
    }

    private static let retryMilliseconds = 1000

    init(
        _ state: AgentState, center: LocalNotifications, lifecycle: AppLifecycle, reporter: Reporter,
        trouble: StateTrouble, scheduler: any Scheduler
    ) {
        self.state = state
        self.center = center
        self.lifecycle = lifecycle
        self.reporter = reporter
        self.trouble = trouble
        self.scheduler = scheduler
    }

    /// Stores an outcome. A response or removal that the disk refuses is stored later.
    func store(_ outcome: Outcome) {
        do throws(StoreError) {
            switch outcome {
            case .shown(let alert, let place):
                try state.alerts.shown(alert, at: place)
                if let push = alert.reported, place != nil { reporter.note(.shown, of: push) }
            case .response(let alert, let action, let text): try respond(alert, action, text)
            case .gone(let alert, let isDismissed):
                try state.alerts.remove(alert)
                if isDismissed {
                    try state.schedule.remove(.some([alert.key.identifier]), of: alert.app, .delivered)
                }
            }
        } catch {
            trouble.note(error)
            if case .shown = outcome { return }
            unstored.append(outcome)
            retry.arm(afterMilliseconds: Self.retryMilliseconds)
        }
    }

    /// Another alert has replaced those with its key: their removal must not remove it.
    func replaced(by alert: Alert) {
        unstored.removeAll {
            if case .gone(let former, _) = $0 { former.key == alert.key } else { false }
        }
    }

    /// Tries again to store what the disk has refused, in order.
    private func storeAgain() {
        let outcomes = unstored
        unstored = []
        for outcome in outcomes { store(outcome) }
    }

    /// Stores the user's response, so that it becomes the launch reason of the app; an action that brings the app to
    /// the front then activates it. An app is told of a dismissal only if the alert's category asks for that.
    private func respond(_ alert: Alert, _ action: String?, _ text: String?) throws(StoreError) {
        let category = state.centers[alert.app]?.category(of: alert)
        if action == Responded.dismissAction,
            (category?.options ?? 0) & LocalCategory.customDismissAction == 0
        {
            return
        }
        try center.respond(
            to: alert.subject, of: alert.key.topic, action: action ?? Responded.defaultAction, text: text,
            identifier: alert.key.identifier, at: alert.at)
        if let push = alert.reported { reporter.note(.actedOn, of: push) }
        let chosen = category?.actions.first { $0.identifier == action }
        guard
            action == nil || action == Responded.settingsAction
                || (chosen?.options ?? 0) & Self.foreground != 0
        else { return }
        lifecycle.startIfNeeded(alert.key.topic)
        lifecycle.handle(.activate, alert.key.topic)
    }

    /// The option of an action that brings its app to the front.
    private static let foreground: UInt32 = 4
}

extension CenterRecord {
    /// The category of an alert; nil if the app has none of that name.
    func category(of alert: Alert) -> LocalCategory? {
        categories.first { $0.identifier == alert.content.category }
    }
}
