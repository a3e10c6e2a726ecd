import PostriderNotifications

/// The devices whose home is a shard, by identity. The relay draws identities at random, so they can serve as hashes:
/// nobody can choose them to collide.
struct DeviceTable {
    private typealias Entry = (identity: DeviceIdentity, entry: DeviceEntry)

    /// An open-addressing table: each entry is at the place that its identity names, or at the next free one. At most
    /// three of four places are taken.
    private var places: [Entry?] = []
    private(set) var count = 0
    /// The devices to which nothing is sent for now.
    let paused = PausedDevices()

    /// All entries, in no order.
    var values: some Sequence<DeviceEntry> { places.lazy.compactMap { $0?.entry } }

    /// The entry of a device.
    subscript(identity: DeviceIdentity) -> DeviceEntry? {
        get { places.isEmpty ? nil : places[place(of: identity)]?.entry }
        set {
            guard let entry = newValue else { return remove(identity) }
            if 4 * (count + 1) > 3 * places.count { grow() }
            put((identity, entry))
        }
    }

    /// Counts the devices and their waiting notifications.
    func census(now: Moment) -> DeviceCensus {
        let dayAgo = now.advanced(byMilliseconds: -24 * 60 * 60 * 1000)
        var census = DeviceCensus()
        for entry in values {
            census.waiting += UInt64(entry.pendingCount)
            if let moment = entry.oldestAcceptedAt, census.oldestAcceptedAt.map({ moment < $0 }) ?? true {
                census.oldestAcceptedAt = moment
            }
            if entry.session != nil { census.connected += 1 }
            if entry.session != nil || entry.lastSeenAt >= dayAgo { census.seenWithinDay += 1 }
        }
        return census
    }

    /// Gives each device its queued notifications, in order and all at once, so that memory is reserved once. Returns
    /// those whose device is unknown.
    func distribute(_ entries: [QueueEntry], to receive: (DeviceEntry, [QueueEntry]) -> Void) -> [QueueEntry]
    {
        guard !places.isEmpty else { return entries }
        // For each place: the number of its entries, and the first one. For each entry: the next one of the same place.
        var chains = [(count: Int, first: Int)](repeating: (0, -1), count: places.count)
        var following = [Int](repeating: -1, count: entries.count)
        var strays: [QueueEntry] = []
        for number in entries.indices.reversed() {
            let place = place(of: entries[number].device)
            guard places[place] != nil else {
                strays.append(entries[number])
                continue
            }
            following[number] = chains[place].first
            chains[place] = (chains[place].count + 1, number)
        }
        for case (let chain, let (_, entry)?) in zip(chains, places) where chain.count > 0 {
            var own: [QueueEntry] = []
            own.reserveCapacity(chain.count)
            var number = chain.first
            while number >= 0 {
                own.append(entries[number])
                number = following[number]
            }
            receive(entry, own)
        }
        return strays.reversed()
    }

    /// The place of a device, or the place where it would be put.
    private func place(of identity: DeviceIdentity) -> Int {
        var place = first(for: identity)
        while let other = places[place]?.identity, other != identity { place = next(place) }
        return place
    }

    private func first(for identity: DeviceIdentity) -> Int {
        Int(truncatingIfNeeded: identity.high) & (places.count - 1)
    }

    private func next(_ place: Int) -> Int { (place + 1) & (places.count - 1) }

    private mutating func put(_ entry: Entry) {
        let place = place(of: entry.identity)
        if places[place] == nil { count += 1 }
        places[place] = entry
    }

    /// Removes an entry, and moves up those that were placed after it because of it.
    private mutating func remove(_ identity: DeviceIdentity) {
        guard !places.isEmpty, case var free = place(of: identity), places[free] != nil else { return }
        count -= 1
        var place = next(free)
        while let other = places[place] {
            let mask = places.count - 1
            if (place - first(for: other.identity)) & mask >= (place - free) & mask {
                places[free] = other
                free = place
            }
            place = next(place)
        }
        places[free] = nil
    }

    private mutating func grow() {
        let old = places
        places = Array(repeating: nil, count: max(16, 2 * old.count))
        count = 0
        for case let entry? in old { put(entry) }
    }
}
