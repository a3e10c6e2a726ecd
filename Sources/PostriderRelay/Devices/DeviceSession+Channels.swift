import PostriderCourier
import PostriderEndpoints
import PostriderHTTP2
import PostriderNotifications

/// The channels that a device is subscribed to, for as long as its link lives.
extension DeviceSession {
    /// Which app of the device wants which channel. Of several that want the same one the channel is at most one's.
    struct SubscriptionIntent: Hashable {
        let channel: ChannelIdentity
        let topic: Topic
    }

    /// A wish that was not refused.
    struct Subscription {
        /// The question that the channel's home was asked last about it.
        var ticket: UInt64
        /// Whether it was granted: the device is in the channel's audience.
        var isGranted = false
    }

    /// Tells the device that it is not, or not any more, subscribed. The topic is text as it came; empty: whatever app
    /// was.
    func refuse(_ channel: ChannelIdentity, of topic: String, _ reason: String) {
        say(.unsubscribed(Unsubscribed(channel: channel, reason: reason, topic: topic)))
    }

    /// Sends a broadcast, whose framed bytes all devices of the shard share. False: too much waits to be sent, and this
    /// device goes without. It is not told; if the channel stores the broadcast, it comes with the next link.
    func broadcast(_ frame: [UInt8]) -> Bool {
        guard let linkStream else { return false }
        guard endpoint.streams.outboundBytes(linkStream) <= Limits.broadcastBacklogBytes else { return false }
        endpoint.streams.send(linkStream, shared: frame)
        return true
    }
}
