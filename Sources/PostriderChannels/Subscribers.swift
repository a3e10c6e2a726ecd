package import PostriderNotifications

/// The devices of a shard that are subscribed to each channel. Adding and removing take constant time, and the order of
/// members does not depend on hashes.
package struct Subscribers<Member: AnyObject> {
    private struct Group {
        var members: [Member] = []
        var places: [ObjectIdentifier: Int] = [:]
    }

    private var groups: [ChannelIdentity: Group] = [:]
    /// The number of subscriptions to all channels.
    package private(set) var count = 0

    /// No subscribers.
    package init() {}

    /// The subscribers of a channel.
    package subscript(channel: ChannelIdentity) -> [Member] { groups[channel]?.members ?? [] }

    /// Adds a subscriber; nothing changes if it is there already.
    package mutating func add(_ member: Member, to channel: ChannelIdentity) {
        let place = groups[channel]?.members.count ?? 0
        guard groups[channel]?.places[ObjectIdentifier(member)] == nil else { return }
        groups[channel, default: Group()].members.append(member)
        groups[channel]?.places[ObjectIdentifier(member)] = place
        count += 1
    }

    /// Removes a subscriber, if it is there. The last one takes its place.
    package mutating func remove(_ member: Member, from channel: ChannelIdentity) {
        guard let place = groups[channel]?.places.removeValue(forKey: ObjectIdentifier(member)),
            let last = groups[channel]?.members.popLast()
        else { return }
        count -= 1
        if last !== member {
            groups[channel]?.members[place] = last
            groups[channel]?.places[ObjectIdentifier(last)] = place
        } else if place == 0 {
            groups[channel] = nil
        }
    }

    /// Removes a channel; returns its subscribers.
    package mutating func removeAll(from channel: ChannelIdentity) -> [Member] {
        let members = groups.removeValue(forKey: channel)?.members ?? []
        count -= members.count
        return members
    }
}
