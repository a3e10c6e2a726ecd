import PostriderCourier
import PostriderNotifications
import PostriderStorage
import PostriderTransport

/// Alerts that a transaction is storing. They are shown once the transaction is committed.
final class AlertIntake {
    private let state: AgentState
    private let scheduler: any Scheduler
    /// Alerts that the current transaction stores.
    private var storing: [Alert] = []
    /// Alerts that were committed and have not been taken yet.
    private var fresh: [Alert] = []

    init(_ state: AgentState, scheduler: any Scheduler) {
        self.state = state
        self.scheduler = scheduler
        state.inbox.whenStored = { [weak self] arrival throws(StoreError) in try self?.store(arrival) }
        state.whenTransactionEnds = { [weak self] isCommitted in self?.ended(isCommitted) }
    }

    /// Returns the alerts that were committed since the last call.
    func take() -> [Alert] {
        defer { fresh = [] }
        return fresh
    }

    /// Whether a committed alert with this key waits to be taken.
    func holds(_ key: Alert.Key) -> Bool { fresh.contains { $0.key == key } }

    /// Stores an alert that a service extension has changed, and returns it as its app may present it. If the disk
    /// refuses it, the next agent has it changed again.
    func keep(_ changed: Alert) throws(StoreError) {
        try state.transaction { () throws(StoreError) in
            try state.alerts.change(changed)
            try list(changed)
        }
    }

    /// The current transaction stores something for an app; if it is an alert that the app may show, it is stored as
    /// one.
    private func store(_ arrival: Inbox.Arrival) throws(StoreError) {
        let now = Moment(milliseconds: scheduler.wallMilliseconds)
        guard let center = state.centers[arrival.app], center.status.allowsNotifications,
            let alert = Alert(arrival.parcel, of: arrival.app, at: now)?.allowed(by: center)
        else { return }
        try state.alerts.put(alert)
        try list(alert)
        storing.append(alert)
    }

    /// A push that is shown is listed among the app's delivered notifications.
    private func list(_ alert: Alert) throws(StoreError) {
        guard case .remote = alert.subject, alert.content.isVisible, alert.permitted.contains(.banner),
            let at = alert.at
        else { return }
        let request = LocalRequest(identifier: alert.key.identifier, content: alert.content, trigger: nil)
        try state.schedule.put(LocalNotice(request: request, at: at), of: alert.app, as: .delivered)
    }

    /// A transaction has been committed or rolled back.
    private func ended(_ isCommitted: Bool) {
        if isCommitted { fresh += storing }
        storing = []
    }
}
