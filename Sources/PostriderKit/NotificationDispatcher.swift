import Synchronization

/// Brings notifications to the observers of an app, in the manner of NSNotificationCenter.
///
/// - An observer asks for one name or any, and for one sender or any.
/// - Posting calls every observer that asked for it, in the order in which they were added, on the poster's thread,
///   and returns when the last has returned. Anyone may post from any thread, an observer included.
/// - An observer that is removed while a post runs, before its turn, is not called; one that is added then sees the
///   next post. A call that is already running on another thread runs to its end.
/// - No lock is held while an observer runs, nor while something that it holds is released.
public final class NotificationDispatcher: Sendable {
    /// What an observer does with a notification, on the thread of whoever posts it.
    public typealias Observer = @Sendable (DispatchedNotification) -> Void

    /// The dispatcher of the app, to which remote notifications are posted.
    public static let `default` = NotificationDispatcher()

    private let observers = Mutex(ObserverList())

    /// A dispatcher without observers.
    public init() {}

    /// Calls `observer` for notifications of one name from one sender, until what this returns is released or removed;
    /// nil stands for any name, or for any sender, none included.
    public func addObserver(
        named name: NotificationName? = nil, sender: NotificationSender? = nil,
        using observer: @escaping Observer
    ) -> Observation {
        let number = observers.withLock { $0.add(name: name, sender: sender, observer: observer) }
        return Observation(dispatcher: self, number: number)
    }

    /// Ends an observation now; ending it twice does no harm.
    public func removeObserver(_ observation: Observation) {
        precondition(observation.dispatcher === self, "an observation is removed where it was added")
        remove(observation.number)
    }

    /// The notifications of one name from one sender that are posted from now on, to be iterated once; nil stands for
    /// any name, or for any sender. Whoever is slow loses the oldest beyond `limit`.
    public func notifications(
        named name: NotificationName? = nil, sender: NotificationSender? = nil, limit: Int = 256
    ) -> AsyncStream<DispatchedNotification> {
        AsyncStream(bufferingPolicy: .bufferingNewest(limit)) { continuation in
            let observation = addObserver(named: name, sender: sender) { continuation.yield($0) }
            continuation.onTermination = { _ in observation.dispatcher.removeObserver(observation) }
        }
    }

    /// Calls the observers of a notification.
    public func post(_ notification: DispatchedNotification) {
        for number in observers.withLock({ $0.numbers(for: notification) }) {
            let observer = observers.withLock { $0.observer(number) }
            observer?(notification)
        }
    }

    /// Calls the observers of a notification with this name, sender and content.
    public func post(name: NotificationName, sender: NotificationSender? = nil, userInfo: UserInfo = [:]) {
        post(DispatchedNotification(name: name, sender: sender, userInfo: userInfo))
    }

    fileprivate func remove(_ number: UInt64) {
        // The observer leaves the lock before it is released: what it holds may come back here as it goes.
        let removed = observers.withLock { $0.remove(number) }
        withExtendedLifetime(removed) {}
    }
}

/// One observer's being registered. The observer is called for as long as someone holds this.
public final class Observation: Sendable {
    fileprivate let dispatcher: NotificationDispatcher
    fileprivate let number: UInt64

    fileprivate init(dispatcher: NotificationDispatcher, number: UInt64) {
        self.dispatcher = dispatcher
        self.number = number
    }

    deinit { dispatcher.remove(number) }
}

/// The observers in the order in which they were added, which is the order of their numbers.
private struct ObserverList {
    private struct Entry {
        let number: UInt64
        let name: NotificationName?
        let senderIdentity: ObjectIdentifier?
        /// Nil once the sender is gone: another object may have taken its identity over by then.
        weak var sender: NotificationSender?
        let observer: NotificationDispatcher.Observer
    }

    private var entries: [Entry] = []
    private var nextNumber: UInt64 = 0

    mutating func add(
        name: NotificationName?, sender: NotificationSender?,
        observer: @escaping NotificationDispatcher.Observer
    ) -> UInt64 {
        defer { nextNumber += 1 }
        entries.append(
            Entry(
                number: nextNumber, name: name, senderIdentity: sender.map { ObjectIdentifier($0) },
                sender: sender,
                observer: observer
            )
        )
        return nextNumber
    }

    mutating func remove(_ number: UInt64) -> NotificationDispatcher.Observer? {
        index(of: number).map { entries.remove(at: $0).observer }
    }

    func observer(_ number: UInt64) -> NotificationDispatcher.Observer? {
        index(of: number).map { entries[$0].observer }
    }

    func numbers(for notification: DispatchedNotification) -> [UInt64] {
        let sender = notification.sender.map { ObjectIdentifier($0) }
        return entries.filter { entry in
            (entry.name == nil || entry.name == notification.name)
                && (entry.senderIdentity == nil || (entry.senderIdentity == sender && entry.sender != nil))
        }.map(\.number)
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
