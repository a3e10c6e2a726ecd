/// How a provider has proved who it is.
public enum ProviderProof: Hashable, Sendable {
    /// By a token of the key with this identifier.
    case key(String)
    /// By a client certificate.
    case certificate
}

/// Whom a traced push was for.
public enum TraceTarget: Hashable, Sendable {
    /// An app on a device.
    case device(DeviceIdentity, RegistrationNumber)
    /// All subscribers of a channel.
    case channel(ChannelIdentity, Environment)
}

/// The beginning of a traced push's life: what it was when its home took it on. A broadcast is one, too.
public struct TraceAcceptance: Hashable, Sendable {
    /// The number under which the rest of its life is told; no other push ever has it.
    public let row: QueueRow
    /// When its home took it on.
    public let moment: Moment
    /// Its `apns-id`.
    public let identity: NotificationIdentity
    /// Its `apns-unique-id`, nil where the provider was told none.
    public let uniqueIdentity: NotificationIdentity?
    /// Whom it is for.
    public let target: TraceTarget
    /// The app.
    public let topic: Topic
    /// `apns-push-type`, nil where the provider sent none.
    public let pushType: PushType?
    /// `apns-priority`.
    public let priority: Priority
    /// How long it is worth keeping.
    public let expiration: Expiration
    /// Whether it has a collapse identifier.
    public let collapses: Bool
    /// Bytes of its payload, at most `UInt32.max`.
    public let payloadBytes: Int
    /// How its provider proved who it is; nil where nobody knows any more.
    public let proof: ProviderProof?

    /// An acceptance from its parts.
    public init(
        row: QueueRow, moment: Moment, identity: NotificationIdentity,
        uniqueIdentity: NotificationIdentity?, target: TraceTarget, topic: Topic, pushType: PushType?,
        priority: Priority, expiration: Expiration, collapses: Bool,
        payloadBytes: Int, proof: ProviderProof?
    ) {
        self.row = row
        self.moment = moment
        self.identity = identity
        self.uniqueIdentity = uniqueIdentity
        self.target = target
        self.topic = topic
        self.pushType = pushType
        self.priority = priority
        self.expiration = expiration
        self.collapses = collapses
        self.payloadBytes = payloadBytes
        self.proof = proof
    }

    /// The acceptance of a notification that was taken on at a row.
    public init(_ queued: QueuedNotification, at moment: Moment) {
        let notification = queued.notification
        self.init(
            row: queued.row, moment: moment, identity: notification.identity,
            uniqueIdentity: notification.uniqueIdentity,
            target: .device(notification.device, notification.registration), topic: notification.topic,
            pushType: notification.pushType, priority: notification.priority,
            expiration: notification.expiration, collapses: notification.collapseIdentifier != nil,
            payloadBytes: notification.payload.count, proof: notification.proof)
    }

    /// The acceptance of a broadcast, for which a row was drawn.
    public init(
        _ broadcast: Broadcast, in environment: Environment, by proof: ProviderProof, row: QueueRow,
        at moment: Moment
    ) {
        self.init(
            row: row, moment: moment, identity: broadcast.identity, uniqueIdentity: nil,
            target: .channel(broadcast.channel, environment), topic: broadcast.topic,
            pushType: broadcast.pushType, priority: broadcast.priority, expiration: broadcast.expiration,
            collapses: false, payloadBytes: broadcast.payload.count, proof: proof)
    }

    /// The addressed device, nil where it was broadcast.
    public var device: DeviceIdentity? {
        switch target {
        case .device(let device, _): device
        case .channel: nil
        }
    }
}

/// One thing that happened to a push after it was accepted.
public struct TraceEvent: Hashable, Sendable {
    /// What happened. The numbers are those in the files.
    public enum Kind: UInt8, CaseIterable, Sendable {
        /// The relay started; it is about no push, and its row is 0.
        case started = 1
        /// It is on the disk.
        case stored = 2
        /// It was written to the device's connection; the detail is ``TraceEvent/connection(_:ofShard:)``.
        case sent = 3
        /// The connection was lost before the device acknowledged it; it waits again.
        case returned = 4
        /// What had replaced it could not be stored; it waits again.
        case recalled = 5
        /// The device acknowledged it.
        case acknowledged = 6
        /// A newer one took its slot; the detail is the newer one's row.
        case replaced = 7
        /// The same push was waiting already, or a device reported that it had it; the detail is that one's row.
        case merged = 8
        /// Its time was over before it was delivered.
        case expired = 9
        /// It was now or never, and its one attempt failed.
        case discarded = 10
        /// It was given up; the detail is the number of the cause.
        case dropped = 11
        /// The device reported that its app has taken it, as a ``TraceReport``; the detail is the moment by the
        /// device's clock, as with the two below.
        case handedOver = 12
        /// The device reported that the user was shown it.
        case shown = 13
        /// The device reported that the user acted on it.
        case actedOn = 14
        /// It was written to the connections of a channel's subscribers; the detail is
        /// ``TraceEvent/count(_:ofShard:)``.
        case broadcast = 15
        /// It was not, because too much waited there; the detail is the same.
        case skipped = 16
        /// The device reported that a newer one with its collapse identifier took its place there, before its app was
        /// given it; the detail is as with ``handedOver``.
        case replacedOnDevice = 17
        /// The device reported that it has started the push's handler; the detail is as with ``handedOver``, here and
        /// below.
        case begun = 18
        /// The device reported that the handler has ended with exit code 0.
        case done = 19
        /// The device reported that app or handler has failed at it, and is given it again.
        case failed = 20
        /// The device reported that app or handler has failed at it as often as may be.
        case gaveUp = 21
        /// The device reported that the handler asks to be started later.
        case postponed = 22

        /// Whether the relay is done with the push. One that was replaced may be recalled.
        public var isEnding: Bool {
            switch self {
            case .acknowledged, .replaced, .merged, .expired, .discarded, .dropped: true
            case .started, .stored, .sent, .returned, .recalled, .handedOver, .shown, .actedOn, .broadcast,
                .skipped, .replacedOnDevice, .begun, .done, .failed, .gaveUp, .postponed:
                false
            }
        }
    }

    /// What happened.
    public let kind: Kind
    /// When.
    public let moment: Moment
    /// To which push.
    public let row: QueueRow
    /// What else there is to say; what it means depends on the kind.
    public let detail: Int64

    /// An event from its parts.
    public init(_ kind: Kind, at moment: Moment, row: QueueRow, detail: Int64 = 0) {
        self.kind = kind
        self.moment = moment
        self.row = row
        self.detail = detail
    }

    /// The detail of ``Kind/sent``: a shard and the number of one of its connections, below 2⁴⁸.
    public static func connection(_ number: UInt64, ofShard shard: Int) -> Int64 {
        Int64(shard) << 48 | Int64(truncatingIfNeeded: number & 0xFFFF_FFFF_FFFF)
    }

    /// The detail of ``Kind/broadcast`` and ``Kind/skipped``: a shard and how many of its devices.
    public static func count(_ devices: Int, ofShard shard: Int) -> Int64 {
        connection(UInt64(devices), ofShard: shard)
    }

    /// The connection that a ``Kind/sent`` tells of.
    public var connection: (shard: Int, number: UInt64) { Self.connection(in: detail) }

    /// The shard and the connection of such a detail.
    public static func connection(in detail: Int64) -> (shard: Int, number: UInt64) {
        (Int(detail >> 48), UInt64(truncatingIfNeeded: detail & 0xFFFF_FFFF_FFFF))
    }
}

/// What a trace consists of, in the order in which it was written down.
public enum TraceRecord: Hashable, Sendable {
    /// A push was accepted.
    case acceptance(TraceAcceptance)
    /// Something happened to it.
    case event(TraceEvent)
    /// A device has reported what became of one.
    case report(TraceReport)

    /// The push; 0 where it is not known by its row.
    public var row: QueueRow {
        switch self {
        case .acceptance(let acceptance): acceptance.row
        case .event(let event): event.row
        case .report: QueueRow(0)
        }
    }
}
