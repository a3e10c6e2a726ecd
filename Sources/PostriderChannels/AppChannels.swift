import PostriderNotifications

/// The channels of one app, the oldest first. The list of all of them is cached, because a request of a few bytes asks
/// for it: it costs nothing while no channel is created or removed.
package struct AppChannels {
    private struct Entry: Comparable {
        let createdAt: Moment
        let identity: ChannelIdentity

        init(_ record: ChannelRecord) { (createdAt, identity) = (record.createdAt, record.identity) }

        static func < (left: Entry, right: Entry) -> Bool {
            (left.createdAt, left.identity) < (right.createdAt, right.identity)
        }
    }

    /// How many there are, including those that are being created.
    var count = 0
    private var entries: [Entry] = []
    /// Whether the entries are sorted. They mostly are added in order, but not when they are read from the disk.
    private var isInOrder = true
    /// The cached list; nil after a change.
    private var listed: [ChannelIdentity]?

    /// A channel is created.
    mutating func add(_ record: ChannelRecord) {
        let entry = Entry(record)
        isInOrder = isInOrder && entries.last.map { $0 < entry } ?? true
        entries.append(entry)
        listed = nil
    }

    /// A channel is removed.
    mutating func remove(_ record: ChannelRecord) {
        putInOrder()
        entries.remove(at: entries.firstPlace(from: Entry(record)))
        listed = nil
    }

    /// The identities of all channels.
    mutating func list() -> [ChannelIdentity] {
        if let listed { return listed }
        putInOrder()
        let names = entries.map(\.identity)
        listed = names
        return names
    }

    private mutating func putInOrder() {
        if !isInOrder { entries.sort() }
        isInOrder = true
    }
}
