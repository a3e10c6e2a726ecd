import PostriderCourier
import PostriderNotifications
import PostriderStorage
import PostriderTransport

/// Alerts that are being stored: they are shown when their transaction is safe.
final class AlertIntake {
    private let state: AgentState
    private let scheduler: any Scheduler
    /// What is being stored, in this transaction.
    private var storing: [Alert] = []
    /// What has been stored since it was taken last.
    private var fresh: [Alert] = []

    init(_ state: AgentState, scheduler: any Scheduler) {
        self.state = state
        self.scheduler = scheduler
        state.inbox.whenStored = { [weak self] arrival throws(StoreError) in try self?.store(arrival) }
        state.whenTransactionEnds = { [weak self] isCommitted in self?.ended(isCommitted) }
    }

    /// What is safe, and was not taken yet.
    func take() -> [Alert] {
        defer { fresh = [] }
        return fresh
    }

    /// Whether something of this name is safe, and was not taken yet.
    func holds(_ key: Alert.Key) -> Bool { fresh.contains { $0.key == key } }

    /// A service extension has changed an alert; the answer is the alert as it may be shown. Where the disk refuses it,
    /// the next agent has it changed again.
    func keep(_ changed: Alert) throws(StoreError) {
        try state.transaction { () throws(StoreError) in
            try state.alerts.change(changed)
            try list(changed)
        }
    }

    /// Something is being stored for an app, in this transaction. What an app may not show is for its eyes only.
    private func store(_ arrival: Inbox.Arrival) throws(StoreError) {
        let now = Moment(milliseconds: scheduler.wallMilliseconds)
        guard let center = state.centers[arrival.app], center.status.allowsNotifications,
            let alert = Alert(arrival.parcel, of: arrival.app, at: now)?.allowed(by: center)
        else { return }
        try state.alerts.put(alert)
        try list(alert)
        storing.append(alert)
    }

    /// A push that is shown is listed as delivered.
    private func list(_ alert: Alert) throws(StoreError) {
        guard case .remote = alert.subject, alert.content.isVisible, alert.permitted.contains(.banner),
            let at = alert.at
        else { return }
        let request = LocalRequest(identifier: alert.key.identifier, content: alert.content, trigger: nil)
        try state.timetable.put(LocalNotice(request: request, at: at), of: alert.app, as: .delivered)
    }

    /// A transaction has ended.
    private func ended(_ isCommitted: Bool) {
        if isCommitted { fresh += storing }
        storing = []
    }
}
