public import PostriderNotifications

/// One request of a provider: a notification for one app on one device, or on all devices that are subscribed to a
/// channel.
public struct Push: Sendable {
    /// The channel of a broadcast; nil for a push to one device. A broadcast must have push type, priority and
    /// expiration.
    public var channel: ChannelIdentity?
    /// The device token in hexadecimal digits, of any length.
    public var deviceToken: String
    /// The topic (`apns-topic`); nil leaves it to the certificate.
    public var topic: Topic?
    /// The payload, a JSON object.
    public var payload: [UInt8]
    /// The push type: `apns-push-type`.
    public var pushType: PushType?
    /// The priority: `apns-priority`.
    public var priority: Priority?
    /// The expiration (`apns-expiration`), in seconds since 1970; nil for as long as the relay keeps notifications.
    public var expiration: Expiration?
    /// The collapse identifier: `apns-collapse-id`.
    public var collapseIdentifier: String?
    /// The identity (`apns-id`); nil lets the relay choose one.
    public var identity: NotificationIdentity?

    /// Creates a push with only the required values.
    public init(to deviceToken: String, topic: Topic?, payload: [UInt8]) {
        self.deviceToken = deviceToken
        self.topic = topic
        self.payload = payload
    }
}

/// The response to a push.
public struct PushOutcome: Sendable, Equatable {
    /// The HTTP status; 200 means accepted.
    public let status: Int
    /// The `apns-id` of the response; nil if the header is missing (a Postrider relay always sends one).
    public let identity: String?
    /// The reason of a refusal, such as those of ``Notifications/Rejection``; nil for 200.
    public let reason: String?
    /// With status 410: since when the device token is invalid.
    public let timestamp: Moment?

    /// Whether the relay has accepted the notification.
    public var isAccepted: Bool { status == 200 }
}
