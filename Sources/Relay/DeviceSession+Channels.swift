import Courier
import Endpoints
import HTTP2
import Notifications

/// The channels that a device is subscribed to, for as long as its link lives.
extension DeviceSession {
    /// A wish that was not refused.
    struct Subscription {
        let topic: Topic
        /// The wish that the channel's home was asked about last.
        let ticket: UInt64
    }

    /// Tells the device that it is not, or not any more, subscribed.
    func refuse(_ channel: ChannelIdentity, _ reason: String) {
        say(.unsubscribed(Unsubscribed(channel: channel, reason: reason)))
    }

    /// Sends a broadcast, whose framed bytes all devices of the shard share. False: too much waits to be sent, and this
    /// device goes without. It is not told; if the channel stores the broadcast, it comes with the next link.
    func broadcast(_ frame: [UInt8]) -> Bool {
        guard let linkStream, isLinkOpen else { return true }
        guard endpoint.streams.outboundBytes(linkStream) <= Limits.broadcastBacklogBytes else { return false }
        endpoint.streams.send(linkStream, shared: frame)
        endpoint.setNeedsFlush()
        return true
    }
}
