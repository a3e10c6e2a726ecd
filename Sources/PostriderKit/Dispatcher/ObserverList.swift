/// The notifications that an observer wants.
struct Interest {
    let name: NotificationName?
    let senderIdentity: ObjectIdentifier?
    /// The sender; nil once it is released. Another object may have the same identity by then.
    weak var sender: NotificationSender?
    let scope: NotificationScope?

    init(name: NotificationName?, sender: NotificationSender?, scope: NotificationScope?) {
        self.name = name
        senderIdentity = sender.map { ObjectIdentifier($0) }
        self.sender = sender
        self.scope = scope
    }

    /// Whether the observer is called at this moment for a notification with a matching name and sender.
    ///
    /// The notification holds the sender that is compared here, so loading the weak reference cannot release it.
    var isActive: Bool { (senderIdentity == nil || sender != nil) && scope?.isOn != false }
}

/// The observers of a dispatcher, indexed by name and sender. Their numbers are in the order in which they were
/// added.
///
/// Its methods run under the dispatcher's lock, so they must not release objects, whose deinitializers may call the
/// dispatcher. They return what the caller has to release.
struct ObserverList {
    /// Calls an observer. Returns false if its object has been released.
    typealias Call = @Sendable (DispatchedNotification) -> Bool

    /// How an observer is called.
    enum Kind {
        /// On the posting thread, before the post returns.
        case synchronous
        /// On a queue.
        case queued
        /// In a task that a ``NotificationFeed`` feeds. The observer is removed when its sender ends.
        case fed
    }

    /// References that the list held or loaded. The caller releases them outside of the lock.
    struct Remains {
        fileprivate var entries: [Entry] = []
        fileprivate var owners: [NotificationSender] = []
    }

    fileprivate struct Entry {
        let interest: Interest
        /// The identity of the object whose method the observer is; nil if it is a closure.
        let ownerIdentity: ObjectIdentifier?
        weak var owner: NotificationSender?
        let kind: Kind
        let call: Call

        var key: Key { Key(name: interest.name, sender: interest.senderIdentity) }
    }

    /// The name and sender that an observer asked for; nil stands for any name, or for any sender.
    fileprivate struct Key: Hashable {
        let name: NotificationName?
        let sender: ObjectIdentifier?
    }

    private var entries: [UInt64: Entry] = [:]
    /// The numbers of the observers with the same name and sender, in ascending order.
    private var numbersByKey: [Key: [UInt64]] = [:]
    /// The numbers of the observers that are methods of an object, in ascending order.
    private var numbersByOwner: [ObjectIdentifier: [UInt64]] = [:]
    /// The names that asynchronous observers have asked for, including observers that are gone; nil stands for any
    /// name.
    private var asynchronousNames: Set<NotificationName?> = []
    private var nextNumber: UInt64 = 0
    /// The count at which ``sweepIfGrown()`` next runs: twice the count after the last run.
    private var sweepCount = leastSweepCount

    private static let leastSweepCount = 64

    var count: Int { entries.count }

    mutating func add(
        _ interest: Interest, owner: NotificationSender?, _ kind: Kind = .synchronous,
        calling call: @escaping Call
    ) -> UInt64 {
        defer { nextNumber += 1 }
        if kind != .synchronous { asynchronousNames.insert(interest.name) }
        let entry = Entry(
            interest: interest, ownerIdentity: owner.map { ObjectIdentifier($0) }, owner: owner,
            kind: kind, call: call)
        entries[nextNumber] = entry
        numbersByKey[entry.key, default: []].append(nextNumber)
        if let identity = entry.ownerIdentity { numbersByOwner[identity, default: []].append(nextNumber) }
        return nextNumber
    }

    mutating func remove(_ number: UInt64) -> Remains { remove([number]) }

    /// Removes the methods of an object that were added for this name and this sender; nil stands for any. The object
    /// may be in its deinitializer, so only its identity is used.
    mutating func remove(
        ownedBy owner: NotificationSender, _ name: NotificationName?, _ sender: NotificationSender?
    ) -> Remains {
        let senderIdentity = sender.map { ObjectIdentifier($0) }
        let numbers = numbersByOwner[ObjectIdentifier(owner)] ?? []
        return remove(
            numbers.filter { number in
                guard let key = entries[number]?.key else { return false }
                return (name == nil || key.name == name)
                    && (senderIdentity == nil || key.sender == senderIdentity)
            })
    }

    /// Removes the observers that end together with this sender.
    mutating func removeThoseEnding(with sender: NotificationSender) -> Remains {
        let identity = ObjectIdentifier(sender)
        return remove(
            entries.filter { $0.value.kind == .fed && $0.value.interest.senderIdentity == identity }
                .map(\.key))
    }

    /// Removes the methods of released objects whenever the list has doubled since the last time.
    mutating func sweepIfGrown() -> Remains {
        guard entries.count >= sweepCount else { return Remains() }
        // A reference that is loaded here may become the last one, so it is released outside of the lock.
        var (gone, owners): ([UInt64], [NotificationSender]) = ([], [])
        for (number, entry) in entries where entry.ownerIdentity != nil {
            if let owner = entry.owner { owners.append(owner) } else { gone.append(number) }
        }
        var remains = remove(gone)
        remains.owners = owners
        sweepCount = max(Self.leastSweepCount, 2 * entries.count)
        return remains
    }

    /// The call for the observer with this number; nil if it was removed, or if its scope is off.
    func observer(_ number: UInt64) -> Call? {
        guard let entry = entries[number], entry.interest.scope?.isOn != false else { return nil }
        return entry.call
    }

    /// The observers to call for a notification, in the order in which they were added.
    func numbers(for notification: DispatchedNotification) -> [UInt64] {
        candidates(for: notification).filter { entries[$0]?.interest.isActive == true }
    }

    /// The observers that asked for the notification's name or any, and its sender or any, in the order in which they
    /// were added. Other observers are not visited.
    func candidates(for notification: DispatchedNotification) -> [UInt64] {
        let sender = notification.sender.map { ObjectIdentifier($0) }
        var keys = [
            Key(name: notification.name, sender: nil), Key(name: nil, sender: nil),
        ]
        if let sender {
            keys += [Key(name: notification.name, sender: sender), Key(name: nil, sender: sender)]
        }
        let lists = keys.compactMap { numbersByKey[$0] }
        return lists.count == 1 ? lists[0] : lists.flatMap { $0 }.sorted()
    }

    /// Whether an asynchronous observer has ever asked for a name.
    func hasHadAsynchronousObserver(of name: NotificationName) -> Bool {
        asynchronousNames.contains(name) || asynchronousNames.contains(nil)
    }

    private mutating func remove(_ numbers: [UInt64]) -> Remains {
        var remains = Remains()
        for number in numbers {
            guard let entry = entries.removeValue(forKey: number) else { continue }
            Self.remove(number, of: entry.key, from: &numbersByKey)
            if let owner = entry.ownerIdentity { Self.remove(number, of: owner, from: &numbersByOwner) }
            remains.entries.append(entry)
        }
        return remains
    }

    private static func remove<Key: Hashable>(
        _ number: UInt64, of key: Key, from index: inout [Key: [UInt64]]
    ) {
        guard let position = index[key].flatMap({ position(of: number, in: $0) }) else { return }
        index[key]?.remove(at: position)
        if index[key]?.isEmpty == true { index[key] = nil }
    }

    /// The index of a number (binary search); nil if it is missing.
    private static func position(of number: UInt64, in numbers: [UInt64]) -> Int? {
        var range = numbers.indices
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            if numbers[middle] == number { return middle }
            range =
                numbers[middle] < number ? middle + 1..<range.upperBound : range.lowerBound..<middle
        }
        return nil
    }
}
