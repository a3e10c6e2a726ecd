extension NotificationName {
    /// Posted when broadcasts of a channel arrive from now on. User info: ``ChannelKey/channel``.
    public static let channelDidSubscribe = NotificationName(rawValue: "postrider.channelDidSubscribe")

    /// Posted when broadcasts of a channel cannot arrive, or no longer do. User info: ``ChannelKey/channel``,
    /// ``ChannelKey/reason``.
    public static let channelDidEnd = NotificationName(rawValue: "postrider.channelDidEnd")
}

/// Posted when broadcasts of a channel arrive from now on.
public struct ChannelDidSubscribe: TypedNotification, Equatable {
    /// The name under which the notification is posted.
    public static let name = NotificationName.channelDidSubscribe
    /// The channel identifier in base64.
    public let channel: String

    /// The channel as user info.
    public var userInfo: UserInfo { [ChannelKey.channel: .string(channel)] }

    /// Creates the notification.
    public init(channel: String) { self.channel = channel }

    /// Returns nil if `userInfo` has no channel.
    public init?(userInfo: UserInfo) {
        guard let channel = userInfo[ChannelKey.channel]?.string else { return nil }
        self.channel = channel
    }
}

/// Posted when broadcasts of a channel cannot arrive, or no longer do.
public struct ChannelDidEnd: TypedNotification, Equatable {
    /// The name under which the notification is posted.
    public static let name = NotificationName.channelDidEnd
    /// The channel identifier in base64.
    public let channel: String
    /// One sentence for the user; empty if the application itself has unsubscribed.
    public let reason: String

    /// The channel and the reason as user info.
    public var userInfo: UserInfo {
        [ChannelKey.channel: .string(channel), ChannelKey.reason: .string(reason)]
    }

    /// Creates the notification.
    public init(channel: String, reason: String) {
        self.channel = channel
        self.reason = reason
    }

    /// Returns nil if `userInfo` has no channel.
    public init?(userInfo: UserInfo) {
        guard let channel = userInfo[ChannelKey.channel]?.string else { return nil }
        self.init(channel: channel, reason: userInfo[ChannelKey.reason]?.string ?? "")
    }
}

/// The keys in the user info of a push whose provider sent a trace context (W3C Trace Context), beside the members of
/// the payload. A payload that has a member `traceparent` of its own keeps it, and gets neither of them.
public enum TraceContextKey {
    /// A text: the header `traceparent`.
    public static let parent = "traceparent"
    /// A text: the header `tracestate`, if the provider sent one.
    public static let state = "tracestate"
}

/// The keys in the user info of notifications about channels.
public enum ChannelKey {
    /// A text: the channel identifier in base64. It is also in the user info of a broadcast, beside the members of
    /// the payload.
    public static let channel = "postrider.channel"
    /// A text: one sentence for the user; empty if the application itself has unsubscribed.
    public static let reason = "reason"
}
