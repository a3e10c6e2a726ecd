import PostriderNotifications

/// The channels of one app, oldest first. A request of a few bytes asks for the list of all of them: it costs nothing
/// as long as none has come or gone.
struct AppChannels {
    private struct Entry: Comparable {
        let createdAt: Moment
        let identity: ChannelIdentity

        init(_ record: ChannelRecord) { (createdAt, identity) = (record.createdAt, record.identity) }

        static func < (left: Entry, right: Entry) -> Bool {
            (left.createdAt, left.identity) < (right.createdAt, right.identity)
        }
    }

    /// How many there are, those included that are being created.
    var count = 0
    private var entries: [Entry] = []
    /// Whether the entries are in their order. They come so mostly, but not from the disk.
    private var isInOrder = true
    /// What was listed last, unless something has changed since.
    private var listed: [ChannelIdentity]?

    /// One is created.
    mutating func add(_ record: ChannelRecord) {
        let entry = Entry(record)
        isInOrder = isInOrder && entries.last.map { $0 < entry } ?? true
        entries.append(entry)
        listed = nil
    }

    /// One is removed.
    mutating func remove(_ record: ChannelRecord) {
        putInOrder()
        entries.remove(at: entries.firstPlace(from: Entry(record)))
        listed = nil
    }

    /// The names of all.
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
