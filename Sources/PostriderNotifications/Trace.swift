/// How a provider was authenticated.
public enum ProviderProof: Hashable, Sendable {
    /// By a token that was signed with the key of this identifier.
    case key(String)
    /// By a client certificate.
    case certificate
}

/// The recipient of a traced push.
public enum TraceTarget: Hashable, Sendable {
    /// An app on a device.
    case device(DeviceIdentity, RegistrationNumber)
    /// All subscribers of a channel.
    case channel(ChannelIdentity, Environment)

    /// The environment of the device token or of the channel.
    public var environment: Environment {
        switch self {
        case .device(_, let registration): registration.environment
        case .channel(_, let environment): environment
        }
    }
}

/// The SHA-256 digest of a payload, in four words; a word has its eight bytes in memory order (little endian).
public struct PayloadDigest: Hashable, Sendable {
    private let first, second, third, fourth: UInt64

    /// A digest of these words.
    public init(words: SIMD4<UInt64>) {
        (first, second, third, fourth) = (words[0], words[1], words[2], words[3])
    }

    /// The words.
    public var words: SIMD4<UInt64> { SIMD4(first, second, third, fourth) }

    /// The 32 bytes.
    public var bytes: [UInt8] {
        [first, second, third, fourth].flatMap { word in
            (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64(8 * $0)) }
        }
    }
}

/// The first record of a traced push: its properties when the device's shard accepted it. It is also used for
/// broadcasts.
public struct TraceAcceptance: Hashable, Sendable {
    /// The row number, by which later records refer to the push. It is unique.
    public let row: QueueRow
    /// When the shard accepted it.
    public let moment: Moment
    /// The `apns-id`.
    public let identity: NotificationIdentity
    /// The `apns-unique-id`; nil if the provider got none.
    public let uniqueIdentity: NotificationIdentity?
    /// The recipient.
    public let target: TraceTarget
    /// The topic of the app.
    public let topic: Topic
    /// The push type (`apns-push-type`); nil if the provider sent none.
    public let pushType: PushType?
    /// The priority: `apns-priority`.
    public let priority: Priority
    /// Until when it is worth delivering.
    public let expiration: Expiration
    /// Whether it has a collapse identifier.
    public let collapses: Bool
    /// The bytes of its payload, at most `UInt32.max`.
    public let payloadBytes: Int
    /// The digest of its payload; nil in a trace that an earlier version has written.
    public let payloadDigest: PayloadDigest?
    /// How its provider was authenticated; nil if that is not known any more.
    public let proof: ProviderProof?

    /// Creates an acceptance from its parts.
    public init(
        row: QueueRow, moment: Moment, identity: NotificationIdentity,
        uniqueIdentity: NotificationIdentity?, target: TraceTarget, topic: Topic, pushType: PushType?,
        priority: Priority, expiration: Expiration, collapses: Bool,
        payloadBytes: Int, payloadDigest: PayloadDigest? = nil, proof: ProviderProof?
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
        self.payloadDigest = payloadDigest
        self.proof = proof
    }

    /// Creates the record of a notification that was accepted with a row.
    public init(_ queued: QueuedNotification, digest: PayloadDigest? = nil, at moment: Moment) {
        let notification = queued.notification
        self.init(
            row: queued.row, moment: moment, identity: notification.identity,
            uniqueIdentity: notification.uniqueIdentity,
            target: .device(notification.device, notification.registration), topic: notification.topic,
            pushType: notification.pushType, priority: notification.priority,
            expiration: notification.expiration, collapses: notification.collapseIdentifier != nil,
            payloadBytes: notification.payload.count, payloadDigest: digest, proof: notification.proof)
    }

    /// Creates the record of a broadcast, which has a row number of its own.
    public init(
        _ broadcast: Broadcast, in environment: Environment, by proof: ProviderProof, row: QueueRow,
        digest: PayloadDigest? = nil, at moment: Moment
    ) {
        self.init(
            row: row, moment: moment, identity: broadcast.identity, uniqueIdentity: nil,
            target: .channel(broadcast.channel, environment), topic: broadcast.topic,
            pushType: broadcast.pushType, priority: broadcast.priority, expiration: broadcast.expiration,
            collapses: false, payloadBytes: broadcast.payload.count, payloadDigest: digest, proof: proof)
    }

    /// The addressed device; nil for a broadcast.
    public var device: DeviceIdentity? {
        switch target {
        case .device(let device, _): device
        case .channel: nil
        }
    }
}

/// An event of a push after it was accepted.
public struct TraceEvent: Hashable, Sendable {
    /// The kind of an event. The raw values are stored in the trace's files.
    public enum Kind: UInt8, CaseIterable, Sendable {
        /// The relay was started. The event belongs to no push, and its row is 0.
        case started = 1
        /// The push was stored on the disk.
        case stored = 2
        /// The push was written to the device's connection. The detail is ``TraceEvent/connection(_:ofShard:)``.
        case sent = 3
        /// The connection was lost before the device acknowledged the push, which is queued again.
        case returned = 4
        /// The push that had replaced it could not be stored, so this one is queued again.
        case recalled = 5
        /// The device acknowledged the push.
        case acknowledged = 6
        /// A newer push with the same collapse key replaced it. The detail is the newer one's row.
        case replaced = 7
        /// The same push was queued already, or a device reported that it had it. The detail is the row of that one.
        case merged = 8
        /// The push expired before it was delivered.
        case expired = 9
        /// The push must not be stored, and its only attempt failed.
        case discarded = 10
        /// The push was given up. The detail is the number of the cause.
        case dropped = 11
        /// The device reported that its app has handled the push, as a ``TraceReport``. The detail is the moment by
        /// the device's clock, also for the two kinds below.
        case handedOver = 12
        /// The device reported that the push was shown to the user.
        case shown = 13
        /// The device reported that the user responded to the push.
        case actedOn = 14
        /// The broadcast was written to the connections of a channel's subscribers. The detail is
        /// ``TraceEvent/count(_:ofShard:)``.
        case broadcast = 15
        /// The broadcast was skipped for connections with too much queued output. The detail has the same form.
        case skipped = 16
        /// The device reported that a newer push with the same collapse identifier replaced it before its app got it.
        /// The detail is the moment by the device's clock.
        case replacedOnDevice = 17
        /// The device reported that it has started the push's handler. The detail is the moment by the device's
        /// clock, also for the kinds below.
        case begun = 18
        /// The device reported that the handler has ended with exit code 0.
        case done = 19
        /// The device reported that the app or handler has failed and will get the push again.
        case failed = 20
        /// The device reported that the app or handler has failed as often as permitted.
        case gaveUp = 21
        /// The device reported that the handler asked to be started later.
        case postponed = 22

        /// Whether the relay is done with the push after this. A push that was replaced may be recalled.
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
    /// When it happened.
    public let moment: Moment
    /// The row of the push.
    public let row: QueueRow
    /// Details, whose meaning depends on the kind.
    public let detail: Int64

    /// Creates an event from its parts.
    public init(_ kind: Kind, at moment: Moment, row: QueueRow, detail: Int64 = 0) {
        self.kind = kind
        self.moment = moment
        self.row = row
        self.detail = detail
    }

    /// Makes the detail of ``Kind/sent``: a shard, and the number of one of its connections, below 2⁴⁸.
    public static func connection(_ number: UInt64, ofShard shard: Int) -> Int64 {
        Int64(shard) << 48 | Int64(truncatingIfNeeded: number & 0xFFFF_FFFF_FFFF)
    }

    /// Makes the detail of ``Kind/broadcast`` and ``Kind/skipped``: a shard, and a number of its devices.
    public static func count(_ devices: Int, ofShard shard: Int) -> Int64 {
        connection(UInt64(devices), ofShard: shard)
    }

    /// The connection in the detail of a ``Kind/sent``.
    public var connection: (shard: Int, number: UInt64) { Self.connection(in: detail) }

    /// The shard and the connection in such a detail.
    public static func connection(in detail: Int64) -> (shard: Int, number: UInt64) {
        (Int(detail >> 48), UInt64(truncatingIfNeeded: detail & 0xFFFF_FFFF_FFFF))
    }
}

/// A record of a trace. Records are kept in the order in which they were written.
public enum TraceRecord: Hashable, Sendable {
    /// A push was accepted.
    case acceptance(TraceAcceptance)
    /// An event of a push.
    case event(TraceEvent)
    /// A device's report about a push.
    case report(TraceReport)

    /// The row of the push; 0 if it is not known.
    public var row: QueueRow {
        switch self {
        case .acceptance(let acceptance): acceptance.row
        case .event(let event): event.row
        case .report: QueueRow(0)
        }
    }
}
