/// What a device said of a notification that it was delivered. Whoever reads the trace believes it of pushes to that
/// very device.
public struct TraceReport: Hashable, Sendable {
    /// One that devices report.
    public let kind: TraceEvent.Kind
    /// When the relay was told.
    public let moment: Moment
    /// When it happened, by the device's clock.
    public let deviceMoment: Moment
    /// Of which notification.
    public let identity: NotificationIdentity
    /// The push; 0 if the device is older than this number.
    public let row: QueueRow
    /// The same push, which came before, where the device has merged the two; 0 otherwise.
    public let other: QueueRow
    /// Who says so.
    public let device: DeviceIdentity
    /// What the device says about it, at most ``Limits/reportTextBytes``; empty for nothing.
    public let text: String

    /// A report from its parts.
    public init(
        _ kind: TraceEvent.Kind, at moment: Moment, onDevice deviceMoment: Moment,
        of identity: NotificationIdentity, row: QueueRow = QueueRow(0), other: QueueRow = QueueRow(0),
        by device: DeviceIdentity, text: String = ""
    ) {
        self.kind = kind
        self.moment = moment
        self.deviceMoment = deviceMoment
        self.identity = identity
        self.row = row
        self.other = other
        self.device = device
        self.text = text
    }

    /// The event in the life of the push at this row.
    public func event(of row: QueueRow) -> TraceEvent {
        TraceEvent(
            kind, at: moment, row: row, detail: kind == .merged ? other.value : deviceMoment.milliseconds)
    }
}

/// A request of a provider's that was refused. Its push was never taken on, so that it has no row.
public struct TraceRefusal: Hashable, Sendable {
    /// When.
    public let moment: Moment
    /// Its `apns-id`; nil where it had one that is none.
    public let identity: NotificationIdentity?
    /// What the provider was told.
    public let reason: Rejection
    /// Its `apns-topic`; nil where it had none, or it is not known any more.
    public let topic: Topic?
    /// On which of the two ports.
    public let environment: Environment
    /// On which connection, as ``TraceEvent/connection(_:ofShard:)``.
    public let connection: Int64

    /// A refusal from its parts.
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
