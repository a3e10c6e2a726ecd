import PostriderCourier
import PostriderNotifications
import PostriderTransport
import Synchronization

extension Application {
    /// Asks for the broadcasts of a channel, which come as notifications do:
    /// ``NotificationName/remoteNotificationDidArrive`` with ``ChannelKey/channel`` in the user info.
    ///
    /// The application must be registered, now or later; the agent remembers the channel until ``unsubscribe(from:)``
    /// or until the relay ends it. Whether it could be done is posted: ``NotificationName/channelDidSubscribe``,
    /// ``NotificationName/channelDidEnd``.
    ///
    /// - Parameter channel: the base64 text that the relay gave to the provider (`apns-channel-id`).
    /// - Throws: ``ApplicationError``.
    public func subscribe(to channel: String) throws(ApplicationError) { try wish(channel, isWanted: true) }

    /// Asks for no more of them.
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

    // What the link asks and tells, from its thread.

    /// Channels that are wanted, and those that are not any more.
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

    /// It does not, or not any more.
    func unsubscribed(_ end: Unsubscribed) {
        let isOver = state.withLock { state in
            // An end that was wished for is the answer to an older wish where the application has changed its mind.
            let isOver = end.reason.isEmpty ? state.channels[end.channel] == false : true
            if isOver { state.channels[end.channel] = nil }
            return isOver
        }
        guard isOver else { return }
        post(ChannelDidEnd(channel: "\(end.channel)", reason: end.reason))
    }
}

extension NotificationName {
    /// The broadcasts of a channel come from now on. User info: ``ChannelKey/channel``.
    public static let channelDidSubscribe = NotificationName(rawValue: "postrider.channelDidSubscribe")

    /// They do not come, or not any more. User info: ``ChannelKey/channel``, ``ChannelKey/reason``.
    public static let channelDidEnd = NotificationName(rawValue: "postrider.channelDidEnd")
}

/// The broadcasts of a channel come from now on.
public struct ChannelDidSubscribe: TypedNotification, Equatable {
    /// What it is posted under.
    public static let name = NotificationName.channelDidSubscribe
    /// The base64 text of the channel.
    public let channel: String

    /// The channel as a user info.
    public var userInfo: UserInfo { [ChannelKey.channel: .string(channel)] }

    /// News of a channel.
    public init(channel: String) { self.channel = channel }

    /// Nil: there is no channel in it.
    public init?(userInfo: UserInfo) {
        guard let channel = userInfo[ChannelKey.channel]?.string else { return nil }
        self.channel = channel
    }
}

/// The broadcasts of a channel do not come, or not any more.
public struct ChannelDidEnd: TypedNotification, Equatable {
    /// What it is posted under.
    public static let name = NotificationName.channelDidEnd
    /// The base64 text of the channel.
    public let channel: String
    /// One sentence for a person, empty where the application itself wished so.
    public let reason: String

    /// Both as a user info.
    public var userInfo: UserInfo {
        [ChannelKey.channel: .string(channel), ChannelKey.reason: .string(reason)]
    }

    /// News of a channel's end.
    public init(channel: String, reason: String) {
        self.channel = channel
        self.reason = reason
    }

    /// Nil: there is no channel in it.
    public init?(userInfo: UserInfo) {
        guard let channel = userInfo[ChannelKey.channel]?.string else { return nil }
        self.init(channel: channel, reason: userInfo[ChannelKey.reason]?.string ?? "")
    }
}

/// The names of what is told of channels in user infos.
public enum ChannelKey {
    /// The base64 text of the channel; also in the user info of a notification that was broadcast to it, beside the
    /// members of its payload.
    public static let channel = "postrider.channel"
    /// A text: one sentence for a person, empty where the application itself wished so.
    public static let reason = "reason"
}
