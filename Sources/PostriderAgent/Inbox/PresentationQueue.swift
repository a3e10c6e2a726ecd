import PostriderCourier
import PostriderNotifications
import PostriderStorage

/// What has to be shown, withdrawn or asked at the end of the turn, in order. Alerts are added while their transaction
/// stores them, and are in the queue once it is committed.
final class PresentationQueue {
    /// A change of what users see.
    enum Change {
        /// An alert was stored.
        case arrived(Alert)
        /// Alerts of an app are to be removed; nil for all of them.
        case revoked(topic: String, identifiers: [String]?)
        /// The badge of an app has changed.
        case badge(topic: String)
        /// An app of this user asks whether it may notify.
        case asked(topic: String, user: UInt32)
        /// The question whether an app may notify has an answer, or is not asked any more.
        case answered(topic: String)
    }

    private let database: Database
    private let centers: CenterRegister
    private let alerts: AlertRegister
    private let schedule: NotificationSchedule
    /// Alerts that the current transaction stores.
    private var storing: [Alert] = []
    private var changes: ArraySlice<Change> = []

    init(
        _ database: Database, centers: CenterRegister, alerts: AlertRegister, schedule: NotificationSchedule
    ) {
        self.database = database
        self.centers = centers
        self.alerts = alerts
        self.schedule = schedule
    }

    /// Adds a change.
    func add(_ change: Change) { changes.append(change) }

    /// Removes and returns the first change; nil if there is none.
    func next() -> Change? { changes.popFirst() }

    /// Whether a committed alert with this key waits to be shown.
    func holds(_ key: Alert.Key) -> Bool {
        changes.contains { if case .arrived(let alert) = $0 { alert.key == key } else { false } }
    }

    /// The current transaction stores something for an app; if it is an alert that the app may show, it is stored as
    /// one.
    func store(_ arrival: Inbox.Arrival, at now: Moment) throws(StoreError) {
        guard let center = centers[arrival.app], center.status.allowsNotifications,
            let alert = Alert(arrival.parcel, of: arrival.app, at: now)?.allowed(by: center)
        else { return }
        try alerts.put(alert)
        try list(alert)
        storing.append(alert)
    }

    /// Stores an alert that a service extension has changed. If the disk refuses it, the next agent has it changed
    /// again.
    func keep(_ changed: Alert) throws(StoreError) {
        try database.transaction { () throws(StoreError) in
            try alerts.change(changed)
            try list(changed)
        }
    }

    /// A transaction has been committed or rolled back.
    func transactionEnded(_ isCommitted: Bool) {
        if isCommitted { changes += storing.map(Change.arrived) }
        storing = []
    }

    /// A push that is shown is listed among the app's delivered notifications.
    private func list(_ alert: Alert) throws(StoreError) {
        guard case .remote = alert.subject, alert.content.isVisible, alert.permitted.contains(.banner),
            let at = alert.at
        else { return }
        let request = LocalRequest(identifier: alert.key.identifier, content: alert.content, trigger: nil)
        try schedule.put(LocalNotice(request: request, at: at), of: alert.app, as: .delivered)
    }
}
