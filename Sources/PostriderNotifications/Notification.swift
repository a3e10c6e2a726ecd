/// One accepted push, immutable from the moment that a relay admits it until it is settled.
///
/// It crosses from the provider's shard to the device's home and to the ledger by reference; nothing of it is
/// copied on the way.
public final class Notification: Sendable {
    /// Its `apns-id`. A provider may use one for several pushes: see ``isSame(as:)``.
    public let identity: NotificationIdentity
    /// The addressed device.
    public let device: DeviceIdentity
    /// The addressed app's registration on that device.
    public let registration: RegistrationNumber
    /// The app it is for.
    public let topic: Topic
    /// `apns-push-type`, nil where the provider sent none.
    public let pushType: PushType?
    /// `apns-priority`, immediate where the provider sent none.
    public let priority: Priority
    /// How long it is worth keeping.
    public let expiration: Expiration
    /// `apns-collapse-id`, nil where the provider sent none; at most ``Limits/collapseIdentifierBytes``
    /// bytes.
    public let collapseIdentifier: String?
    /// The JSON object as the provider sent it.
    public let payload: [UInt8]
    /// When the relay admitted it.
    public let acceptedAt: Moment
    /// `apns-unique-id`, nil where the provider is told none. Not kept on the disk, as ``proof``: it is for the trace.
    public let uniqueIdentity: NotificationIdentity?
    /// How its provider proved who it is.
    public let proof: ProviderProof?

    /// A notification from its parts.
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
        proof: ProviderProof? = nil
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
    }

    /// The place that this notification takes among a device's pending ones; a later one in the same slot
    /// replaces it.
    public var slot: Slot {
        if let collapseIdentifier {
            .collapse(registration, Array(collapseIdentifier.utf8))
        } else {
            .identity(registration, identity)
        }
    }
}

// Providers send a push again when they do not know what became of it, and some use one `apns-id` for all of their
// pushes. Only what is the same in every respect is a push that was sent again.
extension Notification {
    /// Whether this is the same push as another to the same registration: `apns-id`, payload and every header.
    public func isSame(as other: Notification) -> Bool {
        isSameButForExpiration(as: other) && statedExpiration == other.statedExpiration
    }

    /// The same with any `apns-expiration`.
    public func isSameButForExpiration(as other: Notification) -> Bool {
        identity == other.identity && registration == other.registration && priority == other.priority
            && pushType == other.pushType && topic == other.topic && payload == other.payload
            && collapseIdentifier.map { Array($0.utf8) } == other.collapseIdentifier.map { Array($0.utf8) }
    }

    /// A hash of all that ``isSame(as:)`` compares. It differs from process to process.
    public var contentHash: Int {
        var hasher = Hasher()
        hasher.combine(identity)
        hasher.combine(registration)
        hasher.combine(priority)
        hasher.combine(pushType)
        hasher.combine(topic)
        hasher.combine(collapseIdentifier.map { Array($0.utf8) })
        hasher.combine(statedExpiration)
        hasher.combine(payload)
        return hasher.finalize()
    }

    private var statedExpiration: Expiration? {
        expiration.stated(
            acceptedAt: acceptedAt, latestAfterMilliseconds: Limits.storedDays * 24 * 60 * 60 * 1000)
    }
}

extension Expiration {
    /// The expiration as far as the provider has stated it; nil if it is the latest possible, which moves with the
    /// time at which the push is accepted.
    public func stated(acceptedAt: Moment, latestAfterMilliseconds: Int64) -> Expiration? {
        self == .at(acceptedAt.advanced(byMilliseconds: latestAfterMilliseconds)) ? nil : self
    }
}

/// A place among the pending notifications of one device: one index gives collapse and idempotent resend.
public enum Slot: Hashable, Sendable {
    /// A notification without collapse identifier stands for itself: only a resend of it meets it here.
    case identity(RegistrationNumber, NotificationIdentity)
    /// The same for a notification whose `apns-id` another pending one has as well: a number tells them apart.
    case namesake(RegistrationNumber, NotificationIdentity, Int)
    /// Notifications of one app with one collapse identifier share a slot; the newest holds it. Bytes,
    /// because two texts that Unicode takes for the same are not the same header value.
    case collapse(RegistrationNumber, [UInt8])
    /// All notifications of one app share a slot: Apple's storage, in which the latest waits and no other.
    case latest(RegistrationNumber)
}
