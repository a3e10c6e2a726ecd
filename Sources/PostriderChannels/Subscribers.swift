package import PostriderNotifications

/// The devices of a shard that are subscribed to each channel. Adding and removing take constant time, and the order of
/// members does not depend on hashes.
package struct Subscribers<Member: AnyObject> {
    private struct Circle {
        var members: [Member] = []
        var places: [ObjectIdentifier: Int] = [:]
    }

    private var circles: [ChannelIdentity: Circle] = [:]
    /// The number of subscriptions to all channels.
    package private(set) var count = 0

    /// No subscribers.
    package init() {}

    /// The subscribers of a channel.
    package subscript(channel: ChannelIdentity) -> [Member] { circles[channel]?.members ?? [] }

    /// Adds a subscriber; nothing changes if it is there already.
    package mutating func add(_ member: Member, to channel: ChannelIdentity) {
        let place = circles[channel]?.members.count ?? 0
        guard circles[channel]?.places[ObjectIdentifier(member)] == nil else { return }
        circles[channel, default: Circle()].members.append(member)
        circles[channel]?.places[ObjectIdentifier(member)] = place
        count += 1
    }

    /// Removes a subscriber, if it is there. The last one takes its place.
    package mutating func remove(_ member: Member, from channel: ChannelIdentity) {
        guard let place = circles[channel]?.places.removeValue(forKey: ObjectIdentifier(member)),
            let last = circles[channel]?.members.popLast()
        else { return }
        count -= 1
        if last !== member {
            circles[channel]?.members[place] = last
            circles[channel]?.places[ObjectIdentifier(last)] = place
        } else if place == 0 {
            circles[channel] = nil
        }
    }

    /// Removes a channel; returns its subscribers.
    package mutating func removeAll(from channel: ChannelIdentity) -> [Member] {
        let members = circles.removeValue(forKey: channel)?.members ?? []
        count -= members.count
        return members
    }
}
