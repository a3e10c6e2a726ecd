import PostriderCourier
import PostriderNotifications
import Synchronization

/// The channels that an application wants, and those that it no longer wants and of which the agent does not know
/// yet. The application changes them on any thread, and the link on its own.
final class RequestedSubscriptions: Sendable {
    private struct State {
        /// True to subscribe, false to unsubscribe.
        var channels: [ChannelIdentity: Bool] = [:]
        /// Whether the link has been told of changes that it has not read yet.
        var isPosted = false
    }

    private let state = Mutex(State())

    /// Notes that the application wants a channel, or no longer does.
    ///
    /// - Returns: whether the link has to be told.
    func set(_ channel: ChannelIdentity, isWanted: Bool) throws(ApplicationError) -> Bool {
        let isFirst: Bool? = state.withLock { state in
            guard state.channels.count < Limits.subscriptionsPerDevice || state.channels[channel] != nil
            else {
                return nil
            }
            defer { state.isPosted = true }
            state.channels[channel] = isWanted
            return !state.isPosted
        }
        guard let isFirst else { throw .unusable("The application has too many subscriptions.") }
        return isFirst
    }

    /// Returns all channels, for the link.
    func take() -> [ChannelIdentity: Bool] {
        state.withLock { state in
            state.isPosted = false
            return state.channels
        }
    }

    /// The relay does not send the channel's broadcasts, or no longer does.
    ///
    /// - Returns: what is to be posted; nil for the answer to an older request.
    func ended(_ end: Unsubscribed) -> ChannelDidEnd? {
        let isOver = state.withLock { state in
            // If the application has subscribed again since, the end that it had asked for answers the older request.
            let isOver = end.reason.isEmpty ? state.channels[end.channel] == false : true
            if isOver { state.channels[end.channel] = nil }
            return isOver
        }
        return isOver ? ChannelDidEnd(channel: "\(end.channel)", reason: end.reason) : nil
    }
}
