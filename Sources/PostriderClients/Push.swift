public import PostriderNotifications

/// One request of a provider: a notification for one app on one device, or on all that are subscribed to a channel.
public struct Push: Sendable {
    /// The channel; nil: it goes to one device. A broadcast must have push type, priority and expiration.
    public var channel: ChannelIdentity?
    /// The device token, in hexadecimal digits as the app gave it to its provider; of any length.
    public var deviceToken: String
    /// `apns-topic`; nil leaves it to the certificate.
    public var topic: Topic?
    /// A JSON object.
    public var payload: [UInt8]
    /// `apns-push-type`.
    public var pushType: PushType?
    /// `apns-priority`.
    public var priority: Priority?
    /// `apns-expiration`, which counts seconds; nil: as long as the relay keeps notifications.
    public var expiration: Expiration?
    /// `apns-collapse-id`.
    public var collapseIdentifier: String?
    /// `apns-id`; nil lets the relay draw one.
    public var identity: NotificationIdentity?

    /// A push with nothing but what it must have.
    public init(to deviceToken: String, topic: Topic?, payload: [UInt8]) {
        self.deviceToken = deviceToken
        self.topic = topic
        self.payload = payload
    }
}

/// What a relay answered to a push.
public struct PushOutcome: Sendable, Equatable {
    /// 200: accepted.
    public let status: Int
    /// `apns-id` of the answer; nil where there was none, which no relay does.
    public let identity: String?
    /// Why not; one of the words of ``Notifications/Rejection`` and perhaps others. Nil for 200.
    public let reason: String?
    /// Since when the device token is dead, with status 410.
    public let timestamp: Moment?

    /// Whether the relay has taken the notification on.
    public var isAccepted: Bool { status == 200 }
}
