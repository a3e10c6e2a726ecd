import PostriderCourier
import PostriderEndpoints
import PostriderHTTP2
import PostriderNotifications
import PostriderTransport

/// What a device is told about channels and about the relay's stop.
extension DeviceSession {
    /// Tells the device that it is not subscribed, or no longer. The topic is the text as it arrived; empty if it is
    /// about every app.
    func refuse(_ channel: ChannelIdentity, of topic: String, _ reason: String) {
        say(.unsubscribed(Unsubscribed(channel: channel, reason: reason, topic: topic)))
    }

    /// Sends a broadcast, whose frame all devices of the shard share. Returns false if too much waits to be sent to
    /// this device: it does not get the broadcast, and is not told. If the channel stores the broadcast, it is sent on
    /// the next link.
    func broadcast(_ frame: [UInt8]) -> Bool {
        guard !carrier.isMissing, carrier.outboundBytes <= Limits.broadcastBacklogBytes else { return false }
        carrier.send(shared: frame)
        return true
    }

    /// The relay stops: tells the device so. A connection without a link is closed when its calls are answered.
    func drain() {
        if !carrier.isMissing {
            leave(.shutdown, retryAfterMilliseconds: 1_000, "the relay is shutting down")
        } else {
            endpoint.closeWhenAnswered(.localClose)
        }
    }
}
