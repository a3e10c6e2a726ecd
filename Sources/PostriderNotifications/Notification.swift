/// An accepted push. It is immutable from the time at which a relay accepts it until it is settled.
///
/// The provider's shard passes it to the device's shard and to the ledger by reference; nothing is copied.
public final class Notification: Sendable {
    /// The `apns-id`. A provider may use one for several pushes: see ``isSame(as:)``.
    public let identity: NotificationIdentity
    /// The addressed device.
    public let device: DeviceIdentity
    /// The addressed app's registration on that device.
    public let registration: RegistrationNumber
    /// The topic of the app.
    public let topic: Topic
    /// The push type (`apns-push-type`); nil if the provider sent none.
    public let pushType: PushType?
    /// The priority (`apns-priority`); immediate if the provider sent none.
    public let priority: Priority
    /// Until when it is worth delivering.
    public let expiration: Expiration
    /// The collapse identifier (`apns-collapse-id`), at most ``Limits/collapseIdentifierBytes`` bytes; nil if the
    /// provider sent none.
    public let collapseIdentifier: String?
    /// The payload: the JSON object as the provider sent it.
    public let payload: [UInt8]
    /// When the relay accepted it.
    public let acceptedAt: Moment
    /// The `apns-unique-id`; nil if the provider gets none. Like ``proof`` it is not stored, because only the trace
    /// uses it.
    public let uniqueIdentity: NotificationIdentity?
    /// How its provider was authenticated.
    public let proof: ProviderProof?
    /// The URL that its provider wants to be called at, if the operator allows it. It is not stored either.
    public let callback: String?
    /// The trace context of its provider; nil if it sent none.
    public let traceContext: TraceContext?

    /// Creates a notification from its parts.
    public init(
        identity: NotificationIdentity,
        device: DeviceIdentity,
        registration: RegistrationNumber,
        topic: Topic,
        pushType: PushType?,
        priority: Priority,
        expiration: Expiration,
        collapseIdentifier: String?,
        payload: [UInt8],
        acceptedAt: Moment,
        uniqueIdentity: NotificationIdentity? = nil,
        proof: ProviderProof? = nil,
        callback: String? = nil,
        traceContext: TraceContext? = nil
    ) {
        self.identity = identity
        self.device = device
        self.registration = registration
        self.topic = topic
        self.pushType = pushType
        self.priority = priority
        self.expiration = expiration
        self.collapseIdentifier = collapseIdentifier
        self.payload = payload
        self.acceptedAt = acceptedAt
        self.uniqueIdentity = uniqueIdentity
        self.proof = proof
        self.callback = callback
        self.traceContext = traceContext
    }

    /// The collapse key of this notification: a later one with the same key replaces it in the device's queue.
    public var slot: Slot {
        if let collapseIdentifier {
            .collapse(registration, Array(collapseIdentifier.utf8))
        } else {
            .identity(registration, identity)
        }
    }
}

// Providers repeat a push if they do not know its outcome, and some use one `apns-id` for all of their pushes. So a
// push is a repetition only if it is the same in every respect.
extension Notification {
    /// Whether this is the same push as another to the same registration: `apns-id`, payload and every header are
    /// equal, except those of the trace context. A provider that repeats a push may do that in another span.
    public func isSame(as other: Notification) -> Bool {
        isSameButForExpiration(as: other) && statedExpiration == other.statedExpiration
    }

    /// Whether this is the same push as another, apart from `apns-expiration`.
    public func isSameButForExpiration(as other: Notification) -> Bool {
        identity == other.identity && registration == other.registration && priority == other.priority
            && pushType == other.pushType && topic == other.topic && payload == other.payload
            && collapseIdentifier.map { Array($0.utf8) } == other.collapseIdentifier.map { Array($0.utf8) }
    }

    /// A hash of everything that ``isSame(as:)`` compares. It differs between processes.
    public var contentHash: Int {
        var hasher = Hasher()
        hasher.combine(identity)
        hasher.combine(registration)
        hasher.combine(priority)
        hasher.combine(pushType)
        hasher.combine(topic)
        hasher.combine(collapseIdentifier.map { Array($0.utf8) })
        hasher.combine(statedExpiration)
        hashPayload(into: &hasher)
        return hasher.finalize()
    }

    /// Gives a hasher eight bytes at a time, because an array gives it one at a time, which takes twice as long.
    private func hashPayload(into hasher: inout Hasher) {
        var word: UInt64 = 0
        for place in payload.indices {
            word = word << 8 | UInt64(payload[place])
            guard place % 8 == 7 else { continue }
            hasher.combine(word)
            word = 0
        }
        hasher.combine(word)
        hasher.combine(payload.count)
    }

    private var statedExpiration: Expiration? {
        expiration.stated(
            acceptedAt: acceptedAt, latestAfterMilliseconds: Limits.storedDays * 24 * 60 * 60 * 1000)
    }
}

extension Expiration {
    /// The expiration as the provider stated it; nil if it is the latest possible one, which depends on when the push
    /// is accepted.
    public func stated(acceptedAt: Moment, latestAfterMilliseconds: Int64) -> Expiration? {
        self == .at(acceptedAt.advanced(byMilliseconds: latestAfterMilliseconds)) ? nil : self
    }
}

/// A collapse key among the pending notifications of one device. One index serves both collapsing and the detection
/// of repeated pushes.
public enum Slot: Hashable, Sendable {
    /// A notification without collapse identifier has a key of its own, which only its repetition shares.
    case identity(RegistrationNumber, NotificationIdentity)
    /// A notification whose `apns-id` another pending one has as well. The number distinguishes them.
    case namesake(RegistrationNumber, NotificationIdentity, Int)
    /// Notifications of one app with the same collapse identifier; the newest replaces the others. It is compared as
    /// bytes, because texts that are equivalent in Unicode are different header values.
    case collapse(RegistrationNumber, [UInt8])
    /// All notifications of one app, if only the latest is stored, as Apple documents.
    case latest(RegistrationNumber)
}
