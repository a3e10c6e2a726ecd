public import FoundationEssentials
import PostriderCourier
import PostriderNotifications

/// The headers of a push: what its provider wrote into the headers of the request, and when it was received. A push
/// without them was posted by the app itself.
public struct PushHeaders: Hashable, Sendable {
    /// The priority of a push. The raw values are those of `apns-priority`.
    public enum Priority: Int, CaseIterable, Sendable {
        /// The power considerations of the device come first; the push never wakes the device.
        case low = 1
        /// The push is delivered with regard to the power considerations of the device.
        case considerate = 5
        /// The push is delivered at once. This is the priority of a push without the header.
        case immediate = 10
    }

    /// The type of a push: `apns-push-type`.
    public struct PushType: RawRepresentable, Hashable, Sendable {
        /// The value of the header.
        public let rawValue: String
        /// Creates a type from the value of the header.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The push shows an alert.
        public static let alert = PushType(rawValue: "alert")
        /// The push is only for the app and shows nothing.
        public static let background = PushType(rawValue: "background")
    }

    /// The UUID of the push (`apns-id`) in upper case. The provider or the relay has chosen it.
    public let identifier: String
    /// The topic of the app: `apns-topic`.
    public let topic: String
    /// The type of the push (`apns-push-type`); nil if the provider gave none.
    public let pushType: PushType?
    /// The priority of the push: `apns-priority`.
    public let priority: Priority
    /// Until when the relay stores the push (`apns-expiration`); nil if it must not be stored (0).
    public let expiration: Date?
    /// The collapse identifier (`apns-collapse-id`); nil if the provider gave none.
    public let collapseIdentifier: String?
    /// The identifier of the channel in base64 (`apns-channel-id`) if the push was broadcast; nil if it was for this
    /// device.
    public let channel: String?
    /// When the relay accepted the push, by the relay's clock.
    public let acceptedAt: Date
    /// When the device's agent received the push, by the device's clock; nil if the agent is of an earlier version.
    public let receivedAt: Date?
    /// The provider's span in its trace (`traceparent` of W3C Trace Context), of which what the app does for this push
    /// is a part; nil if the provider gave none.
    public let traceParent: String?
    /// What the provider's tracing adds to ``traceParent`` (`tracestate`); nil if the provider gave none.
    public let traceState: String?

    /// Creates headers from their parts.
    public init(
        identifier: String, topic: String, pushType: PushType?, priority: Priority, expiration: Date?,
        collapseIdentifier: String?, channel: String? = nil, acceptedAt: Date, receivedAt: Date? = nil,
        traceParent: String? = nil, traceState: String? = nil
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
        self.traceParent = traceParent
        self.traceState = traceState
    }

    init(_ deliver: Deliver) {
        self.init(
            identifier: "\(deliver.identity)", topic: deliver.topic,
            pushType: deliver.pushType.map { PushType(rawValue: $0) },
            priority: Priority(rawValue: Int(deliver.priority.rawValue)) ?? .immediate,
            expiration: deliver.expiration.date, collapseIdentifier: deliver.collapseIdentifier,
            channel: deliver.channel.map { "\($0)" }, acceptedAt: Date(deliver.acceptedAt),
            receivedAt: deliver.receivedAt.map { Date($0) }, traceParent: deliver.traceContext?.parent,
            traceState: deliver.traceContext?.state)
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
