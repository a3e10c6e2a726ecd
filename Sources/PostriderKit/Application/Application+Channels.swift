import PostriderCourier
import PostriderNotifications
import PostriderTransport
import Synchronization

extension Application {
    /// Subscribes to a channel. Its broadcasts arrive as notifications do:
    /// ``NotificationName/remoteNotificationDidArrive`` with ``ChannelKey/channel`` in the user info.
    ///
    /// The application must be registered, now or later. The agent keeps the subscription until
    /// ``unsubscribe(from:)``, or until the relay ends it. The result is posted:
    /// ``NotificationName/channelDidSubscribe`` or ``NotificationName/channelDidEnd``.
    ///
    /// - Parameter channel: the channel identifier in base64 that the relay gave to the provider (`apns-channel-id`).
    /// - Throws: ``ApplicationError``.
    public func subscribe(to channel: String) throws(ApplicationError) { try wish(channel, isWanted: true) }

    /// Ends the subscription to a channel.
    ///
    /// - Throws: ``ApplicationError``.
    public func unsubscribe(from channel: String) throws(ApplicationError) {
        try wish(channel, isWanted: false)
    }

    private func wish(_ text: String, isWanted: Bool) throws(ApplicationError) {
        guard let channel = ChannelIdentity(text) else {
            throw .unusable("\(text) is no channel: it must be the base64 text that the relay gave out.")
        }
        let mailbox = try startedMailbox()
        let isFirst: Bool? = state.withLock { state in
            guard state.channels.count < Limits.subscriptionsPerDevice || state.channels[channel] != nil
            else {
                return nil
            }
            defer { state.areChannelsPosted = true }
            state.channels[channel] = isWanted
            return !state.areChannelsPosted
        }
        guard let isFirst else { throw .unusable("The application has too many subscriptions.") }
        if isFirst { mailbox.postEvenIfFull(.channels) }
    }

    // Calls by the link, on its thread.

    /// The channels whose subscription the agent does not know yet: true to subscribe, false to unsubscribe.
    func takeChannelWishes() -> [ChannelIdentity: Bool] {
        state.withLock { state in
            state.areChannelsPosted = false
            return state.channels
        }
    }

    /// The relay sends the channel's broadcasts from now on.
    func subscribed(to channel: ChannelIdentity) {
        post(ChannelDidSubscribe(channel: "\(channel)"))
    }

    /// The relay does not send the channel's broadcasts, or no longer does.
    func unsubscribed(_ end: Unsubscribed) {
        let isOver = state.withLock { state in
            // If the application has subscribed again since, the end that it had asked for answers the older request.
            let isOver = end.reason.isEmpty ? state.channels[end.channel] == false : true
            if isOver { state.channels[end.channel] = nil }
            return isOver
        }
        guard isOver else { return }
        post(ChannelDidEnd(channel: "\(end.channel)", reason: end.reason))
    }
}

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

/// The keys in the user info of notifications about channels.
public enum ChannelKey {
    /// A text: the channel identifier in base64. It is also in the user info of a broadcast, beside the members of
    /// the payload.
    public static let channel = "postrider.channel"
    /// A text: one sentence for the user; empty if the application itself has unsubscribed.
    public static let reason = "reason"
}
