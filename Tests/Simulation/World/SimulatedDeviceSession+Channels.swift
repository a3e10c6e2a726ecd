import PostriderCourier
import PostriderNotifications

/// A device's subscriptions on one link.
extension SimulatedDeviceSession {
    /// Subscribes to a channel if the link is open.
    func subscribe(to index: Int) {
        guard let identity = world.channels.all[index].identity,
            let message = link?.send(
                .subscribe(
                    Subscribe(
                        topic: world.channels.all[index].topic, channel: identity,
                        last: device.lastBroadcast[identity])))
        else { return }
        awaited.insert(identity)
        if !dismissed.contains(identity), asked[identity] == nil {
            asked[identity] = (world.events, world.clock.stamp)
        }
        say(message)
    }

    func unsubscribe(from index: Int) {
        guard let identity = world.channels.all[index].identity,
            let message = link?.send(.unsubscribe(identity))
        else { return }
        awaited.remove(identity)
        // Broadcasts that the relay sent before it learns of this may still come; they are no violation.
        dismissed.insert(identity)
        asked[identity] = nil
        say(message)
    }

    /// Ends an app's subscriptions without notice when the app changes its environment or, with nil, is removed.
    func forgetChannels(of topic: String, outside environment: PostriderNotifications.Environment?) {
        for index in device.channels {
            let channel = world.channels.all[index]
            guard channel.topic == topic, channel.environment != environment, let identity = channel.identity
            else { continue }
            device.channels.remove(index)
            awaited.remove(identity)
            dismissed.insert(identity)
            asked[identity] = nil
        }
    }

    /// Subscribes to all wanted channels, after the welcome.
    func subscribeToAll() {
        for index in device.channels.sorted() where world.channels.all[index].deletionAskedAt == nil {
            subscribe(to: index)
        }
    }

    func subscribed(to channel: ChannelIdentity) { awaited.remove(channel) }

    func unsubscribed(_ end: Unsubscribed) {
        let index = world.channels.index(of: end.channel)
        let isDeleted = index.map { world.channels.all[$0].deletionAskedAt != nil } ?? false
        findings.expect(
            end.reason.isEmpty || isDeleted || isForgotten(index) || device.session !== self, .channels,
            "\(end.channel) is there: \(end.reason)")
        if !end.reason.isEmpty { awaited.remove(end.channel) }
    }

    /// Whether the device has unsubscribed since it asked for the channel.
    private func isForgotten(_ index: Int?) -> Bool { index.map { !device.channels.contains($0) } ?? false }

    func heard(_ deliver: Deliver) {
        let question = deliver.channel.flatMap { asked[$0] }
        world.heard(deliver, by: device, isNewestLink: device.session === self, asked: question)
    }
}
