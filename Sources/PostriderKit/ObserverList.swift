/// Which notifications an observer wants.
struct Interest {
    let name: NotificationName?
    let senderIdentity: ObjectIdentifier?
    /// Nil once the sender is gone: another object may have taken its identity over by then.
    weak var sender: NotificationSender?
    let scope: NotificationScope?

    init(name: NotificationName?, sender: NotificationSender?, scope: NotificationScope?) {
        self.name = name
        senderIdentity = sender.map { ObjectIdentifier($0) }
        self.sender = sender
        self.scope = scope
    }

    /// Whether this one is wanted. A sender that is compared here is held by the notification, so looking at the weak
    /// reference cannot be what ends it.
    func includes(_ notification: DispatchedNotification, from identity: ObjectIdentifier?) -> Bool {
        (name == nil || name == notification.name)
            && (senderIdentity == nil || (senderIdentity == identity && sender != nil))
            && scope?.isOn != false
    }
}

/// The observers in the order in which they were added, which is the order of their numbers.
///
/// Its verbs run under the dispatcher's lock. So they release nothing: an object that goes may come back to the
/// dispatcher as it does. What is to be released is returned.
struct ObserverList {
    /// Calls an observer; false: the object that it belongs to is gone.
    typealias Call = @Sendable (DispatchedNotification) -> Bool

    /// What a list has held, or has looked at, to be released outside of the lock.
    struct Remains {
        fileprivate var entries: [Entry] = []
        fileprivate var owners: [NotificationSender] = []
    }

    fileprivate struct Entry {
        let number: UInt64
        let interest: Interest
        /// The object that the observer is a method of; nil where it is a closure.
        let ownerIdentity: ObjectIdentifier?
        weak var owner: NotificationSender?
        let call: Call
    }

    private var entries: [Entry] = []
    private var nextNumber: UInt64 = 0
    /// The count from which on the list looks for objects that are gone: twice what the last look has left.
    private var sweepCount = leastSweepCount

    private static let leastSweepCount = 64

    var count: Int { entries.count }

    mutating func add(
        _ interest: Interest, owner: NotificationSender?, calling call: @escaping Call
    ) -> UInt64 {
        defer { nextNumber += 1 }
        entries.append(
            Entry(
                number: nextNumber, interest: interest, ownerIdentity: owner.map { ObjectIdentifier($0) },
                owner: owner, call: call))
        return nextNumber
    }

    mutating func remove(_ number: UInt64) -> Remains {
        Remains(entries: index(of: number).map { [entries.remove(at: $0)] } ?? [])
    }

    /// Removes the methods of an object that were added for this name and this sender, nil standing for any. The
    /// object may be on its way out: only its identity is looked at.
    mutating func remove(
        ownedBy owner: NotificationSender, _ name: NotificationName?, _ sender: NotificationSender?
    ) -> Remains {
        let identity = ObjectIdentifier(owner)
        let senderIdentity = sender.map { ObjectIdentifier($0) }
        return removeAll { entry in
            entry.ownerIdentity == identity && (name == nil || entry.interest.name == name)
                && (senderIdentity == nil || entry.interest.senderIdentity == senderIdentity)
        }
    }

    /// Removes the methods of objects that are gone, once so many were added that the look is worth it.
    mutating func sweepIfGrown() -> Remains {
        guard entries.count >= sweepCount else { return Remains() }
        // A reference that is taken here may be the last one by now.
        let owners = entries.map(\.owner)
        let gone = Set(zip(entries, owners).filter { $0.ownerIdentity != nil && $1 == nil }.map(\.0.number))
        var remains = removeAll { gone.contains($0.number) }
        remains.owners = owners.compactMap { $0 }
        sweepCount = max(Self.leastSweepCount, 2 * entries.count)
        return remains
    }

    /// What to call for the observer of this number; nil where it is gone, or its scope is off by now.
    func observer(_ number: UInt64) -> Call? {
        guard let index = index(of: number), entries[index].interest.scope?.isOn != false else { return nil }
        return entries[index].call
    }

    func numbers(for notification: DispatchedNotification) -> [UInt64] {
        let sender = notification.sender.map { ObjectIdentifier($0) }
        return entries.indices.compactMap { index in
            entries[index].interest.includes(notification, from: sender) ? entries[index].number : nil
        }
    }

    private mutating func removeAll(where isRemoved: (Entry) -> Bool) -> Remains {
        var (kept, removed): ([Entry], [Entry]) = ([], [])
        for entry in entries {
            if isRemoved(entry) { removed.append(entry) } else { kept.append(entry) }
        }
        // The old array goes with the last of its entries' references elsewhere: nothing is released here.
        entries = kept
        return Remains(entries: removed)
    }

    /// Numbers rise, so halves suffice.
    private func index(of number: UInt64) -> Int? {
        var range = entries.indices
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            if entries[middle].number == number { return middle }
            range =
                entries[middle].number < number ? middle + 1..<range.upperBound : range.lowerBound..<middle
        }
        return nil
    }
}
