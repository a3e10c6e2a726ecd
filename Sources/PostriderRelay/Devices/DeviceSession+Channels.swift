import PostriderCourier
import PostriderEndpoints
import PostriderHTTP2
import PostriderNotifications
import PostriderTransport

/// What a device is told of channels and of the end of the relay.
extension DeviceSession {
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

    /// The relay stops. The device is told so; a connection that carries no link is closed when the calls on it are
    /// answered.
    func drain() {
        if linkStream != nil {
            leave(.shutdown, retryAfterMilliseconds: 1_000, "the relay is shutting down")
        } else {
            endpoint.closeWhenAnswered(.localClose)
        }
    }
}
