/// A device's report about a notification. Readers of the trace apply it only to pushes to that very device.
public struct TraceReport: Hashable, Sendable {
    /// The kind of the event; one of those that devices report.
    public let kind: TraceEvent.Kind
    /// When the relay received the report.
    public let moment: Moment
    /// When it happened, by the device's clock.
    public let deviceMoment: Moment
    /// The identity of the notification.
    public let identity: NotificationIdentity
    /// The row of the push; 0 if the device does not know it.
    public let row: QueueRow
    /// The row of the same push that came first, if the device has merged the two; 0 otherwise.
    public let other: QueueRow
    /// The device that reports.
    public let device: DeviceIdentity
    /// For how many milliseconds the app or handler had it; 0 if that is not known. It is not stored, because only
    /// spans use it.
    public let tookMilliseconds: UInt64
    /// Details, at most ``Limits/reportTextBytes`` bytes; empty for none.
    public let text: String

    /// Creates a report from its parts.
    public init(
        _ kind: TraceEvent.Kind, at moment: Moment, onDevice deviceMoment: Moment,
        of identity: NotificationIdentity, row: QueueRow = QueueRow(0), other: QueueRow = QueueRow(0),
        by device: DeviceIdentity, tookMilliseconds: UInt64 = 0, text: String = ""
    ) {
        self.kind = kind
        self.moment = moment
        self.deviceMoment = deviceMoment
        self.identity = identity
        self.row = row
        self.other = other
        self.device = device
        self.tookMilliseconds = tookMilliseconds
        self.text = text
    }

    /// The event for the push with this row.
    public func event(of row: QueueRow) -> TraceEvent {
        TraceEvent(
            kind, at: moment, row: row, detail: kind == .merged ? other.value : deviceMoment.milliseconds)
    }
}

/// A refused request of a provider. Its push was not accepted, so it has no row.
public struct TraceRefusal: Hashable, Sendable {
    /// When it was refused.
    public let moment: Moment
    /// The `apns-id`; nil if the header was not a UUID.
    public let identity: NotificationIdentity?
    /// The reason that the provider got.
    public let reason: Rejection
    /// The `apns-topic`; nil if it was missing, or is not known any more.
    public let topic: Topic?
    /// The environment of the port.
    public let environment: Environment
    /// The connection, in the form of ``TraceEvent/connection(_:ofShard:)``.
    public let connection: Int64

    /// Creates a refusal from its parts.
    public init(
        _ reason: Rejection, at moment: Moment, of identity: NotificationIdentity?, topic: Topic?,
        in environment: Environment, on connection: Int64
    ) {
        self.moment = moment
        self.identity = identity
        self.reason = reason
        self.topic = topic
        self.environment = environment
        self.connection = connection
    }
}
