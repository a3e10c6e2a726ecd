import PostriderNotifications

/// Who of a shard's devices is subscribed to which channel. Joining and leaving cost the same however many there are,
/// and members are called in an order that does not depend on hashes.
struct Subscribers<Member: AnyObject> {
    private struct Circle {
        var members: [Member] = []
        var places: [ObjectIdentifier: Int] = [:]
    }

    private var circles: [ChannelIdentity: Circle] = [:]
    /// Subscriptions of all channels.
    private(set) var count = 0

    /// The subscribers of a channel.
    subscript(channel: ChannelIdentity) -> [Member] { circles[channel]?.members ?? [] }

    /// One more subscriber; one that is there already stays.
    mutating func add(_ member: Member, to channel: ChannelIdentity) {
        let place = circles[channel]?.members.count ?? 0
        guard circles[channel]?.places[ObjectIdentifier(member)] == nil else { return }
        circles[channel, default: Circle()].members.append(member)
        circles[channel]?.places[ObjectIdentifier(member)] = place
        count += 1
    }

    /// One less; one that is not there is no error. The last takes its place.
    mutating func remove(_ member: Member, from channel: ChannelIdentity) {
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

    /// Ends a channel; the answer is who was subscribed.
    mutating func removeAll(from channel: ChannelIdentity) -> [Member] {
        let members = circles.removeValue(forKey: channel)?.members ?? []
        count -= members.count
        return members
    }
}
