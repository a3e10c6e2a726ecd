import PostriderNotifications
import PostriderWebPush

/// The subscriptions of Web Push, of browsers and of agents' apps, whose home is one shard.
struct WebSubscriptions {
    /// One subscription beside its registration.
    struct Entry {
        let number: RegistrationNumber
        /// The browser's UUID, in its spelling, or the topic of an agent's registration.
        let channel: String
        /// The only key that may send; nil for everybody.
        let senderKey: VAPIDKey?
    }

    private var table: [DeviceIdentity: [Entry]] = [:]

    /// The subscription of a registration; nil if the registration is for pushes of APNs.
    subscript(device: DeviceIdentity, number: RegistrationNumber) -> Entry? {
        table[device]?.first { $0.number == number }
    }

    /// The subscriptions of a channel, the newest last: at most one of them is valid.
    func all(of channel: String, on device: DeviceIdentity) -> [Entry] {
        table[device]?.filter { $0.channel == channel } ?? []
    }

    /// Adds a subscription that is durable, or replaces the one of its number. A key that is no point on the curve
    /// comes from a damaged registry: nobody may send then.
    mutating func put(_ subscription: WebSubscription) {
        let key = subscription.senderKey.map { VAPIDKey(bytes: $0) }
        if case .some(nil) = key { return }
        var entries = table[subscription.device] ?? []
        entries.removeAll { $0.number == subscription.number }
        entries.append(
            Entry(number: subscription.number, channel: subscription.channel, senderKey: key ?? nil))
        table[subscription.device] = entries
    }

    /// The device was removed.
    mutating func remove(_ device: DeviceIdentity) { table[device] = nil }

    /// Other nodes have these devices.
    mutating func remove(where isMoved: (DeviceIdentity) -> Bool) {
        table = table.filter { !isMoved($0.key) }
    }
}
