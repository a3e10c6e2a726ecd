public import FoundationEssentials
import PostriderCourier
import PostriderNotifications

/// What a push carries beside its payload: what its provider wrote into the headers of the request, and when it came
/// by. Without those a push was posted by the app itself.
public struct PushHeaders: Hashable, Sendable {
    /// How urgent it is. Numbers as of `apns-priority`.
    public enum Priority: Int, CaseIterable, Sendable {
        /// The device's power outranks it; it never wakes the device.
        case low = 1
        /// Delivered with regard to the device's power.
        case considerate = 5
        /// Delivered at once; what a push without the header has.
        case immediate = 10
    }

    /// What kind of push it is: `apns-push-type`.
    public struct PushType: RawRepresentable, Hashable, Sendable {
        /// The word in the header.
        public let rawValue: String
        /// A type from its word.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// It has something to show.
        public static let alert = PushType(rawValue: "alert")
        /// It is for the app alone.
        public static let background = PushType(rawValue: "background")
    }

    /// The UUID that names the push: `apns-id`, the provider's own or the relay's, in upper case.
    public let identifier: String
    /// The app: `apns-topic`.
    public let topic: String
    /// `apns-push-type`; nil: the provider wrote none.
    public let pushType: PushType?
    /// `apns-priority`.
    public let priority: Priority
    /// `apns-expiration`: until when the relay would have kept it; nil: it was not to be stored (0).
    public let expiration: Date?
    /// `apns-collapse-id`; nil: the provider wrote none.
    public let collapseIdentifier: String?
    /// The channel that it was broadcast to, base64 text (`apns-channel-id`); nil: it was for this device.
    public let channel: String?
    /// When the relay took it on, by the relay's clock.
    public let acceptedAt: Date
    /// When the device's agent had it, by the device's clock; nil: the agent is of an earlier version.
    public let receivedAt: Date?

    /// Headers from their parts.
    public init(
        identifier: String, topic: String, pushType: PushType?, priority: Priority, expiration: Date?,
        collapseIdentifier: String?, channel: String? = nil, acceptedAt: Date, receivedAt: Date? = nil
    ) {
        self.identifier = identifier
        self.topic = topic
        self.pushType = pushType
        self.priority = priority
        self.expiration = expiration
        self.collapseIdentifier = collapseIdentifier
        self.channel = channel
        self.acceptedAt = acceptedAt
        self.receivedAt = receivedAt
    }

    init(_ deliver: Deliver) {
        self.init(
            identifier: "\(deliver.identity)", topic: deliver.topic,
            pushType: deliver.pushType.map { PushType(rawValue: $0) },
            priority: Priority(rawValue: Int(deliver.priority.rawValue)) ?? .immediate,
            expiration: deliver.expiration.date, collapseIdentifier: deliver.collapseIdentifier,
            channel: deliver.channel.map { "\($0)" }, acceptedAt: Date(deliver.acceptedAt),
            receivedAt: deliver.receivedAt.map { Date($0) })
    }
}

extension Expiration {
    fileprivate var date: Date? {
        switch self {
        case .nowOrNever: nil
        case .at(let moment): Date(moment)
        }
    }
}
