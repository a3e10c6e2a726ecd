import Synchronization

/// Posts notifications to the observers of an app, like NSNotificationCenter.
///
/// - An observer observes one name or any, and one sender or any.
/// - A post calls every matching observer in the order in which they were added, on the posting thread, and returns
///   when the last has returned. Any thread may post, and an observer may post, too.
/// - Observers of the other forms (`on:`, `onMainActor:`, `handling:`, ``notifications(named:sender:in:limit:)``) run
///   elsewhere and later: a post does not wait for them. The agent gets the acknowledgement of a notification when
///   all its observers, of whatever form, have finished.
/// - An observer that is removed during a post, before its turn, is not called; one that is added during a post gets
///   the next one. A call that is already running on another thread runs to its end.
/// - Observers that are bound to a ``NotificationScope`` are skipped while it is off.
/// - Only the agent posts events of the device: an app's own post of such a name (``NotificationName/isSystems``)
///   calls no observer, and returns the reason.
/// - No lock is held while an observer runs, nor while an object that it holds is released.
public final class NotificationDispatcher: Sendable {
    /// A closure that is called with a notification, on the thread that posts it.
    public typealias Observer = @Sendable (DispatchedNotification) -> Void

    /// The dispatcher of the app, to which remote, local and system notifications are posted.
    public static let `default` = NotificationDispatcher()

    private let observers = Mutex(ObserverList())

    /// Creates a dispatcher without observers.
    public init() {}

    /// Calls `observer` for notifications of one name from one sender, until the returned observation is released or
    /// removed.
    ///
    /// - Parameters:
    ///   - name: the name to observe; nil for any name.
    ///   - sender: the sender to observe; nil for any sender, and for notifications without one.
    ///   - scope: the observer is called only while this scope is on; nil for always.
    ///   - observer: called with each notification, on the thread that posts it.
    public func addObserver(
        named name: NotificationName? = nil, sender: NotificationSender? = nil,
        in scope: NotificationScope? = nil, using observer: @escaping Observer
    ) -> Observation {
        observe(Interest(name: name, sender: sender, scope: scope)) { notification in
            observer(notification)
            return true
        }
    }

    /// Calls a method of `object` for notifications of one name from one sender, for as long as the object exists:
    ///
    ///     dispatcher.addObserver(screen, calling: Screen.showOrder, named: .orderShipped)
    ///
    /// The object is kept alive only during a call. If the same method is added several times, it is called as often.
    public func addObserver<Object: AnyObject & Sendable>(
        _ object: Object, calling method: @escaping @Sendable (Object) -> (DispatchedNotification) -> Void,
        named name: NotificationName? = nil, sender: NotificationSender? = nil,
        in scope: NotificationScope? = nil
    ) {
        _ = add(Interest(name: name, sender: sender, scope: scope), owner: object) {
            [weak object] notification in
            guard let object else { return false }
            method(object)(notification)
            return true
        }
    }

    /// Ends an observation now. Ending it twice, or ending one of another dispatcher, does nothing.
    public func removeObserver(_ observation: Observation) {
        if observation.dispatcher === self { remove(observation.number) }
    }

    /// Stops calling methods of `object`: those that were added with this name and this sender, or all of them if
    /// neither is given. An object may call this in its deinitializer, and need not.
    public func removeObserver(
        _ object: NotificationSender, named name: NotificationName? = nil, sender: NotificationSender? = nil
    ) {
        let removed = observers.withLock { $0.remove(ownedBy: object, name, sender) }
        withExtendedLifetime(removed) {}
    }

    /// Calls the observers of a notification.
    ///
    /// - Returns: why no observer was called; nil if all matching observers were called.
    @discardableResult
    public func post(_ notification: DispatchedNotification) -> PostRefusal? {
        guard !notification.name.isSystems else { return PostRefusal(of: notification.name) }
        deliver(notification)
        return nil
    }

    /// Calls the observers of a notification, without checking whether an app may post its name.
    ///
    /// - Returns: how many observers were called.
    @discardableResult
    func deliver(_ notification: DispatchedNotification) -> Int {
        var called = 0
        for number in observers.withLock({ $0.numbers(for: notification) }) {
            guard let observer = observers.withLock({ $0.observer(number) }) else { continue }
            if observer(notification) { called += 1 } else { remove(number) }
        }
        return called
    }

    /// Ends the asynchronous observers of a sender that has ended.
    func ended(_ sender: NotificationSender) {
        let removed = observers.withLock { $0.removeThoseEnding(with: sender) }
        withExtendedLifetime(removed) {}
    }

    /// Calls the observers of a notification with this name, sender and user info.
    ///
    /// - Returns: why no observer was called; nil if all matching observers were called.
    @discardableResult
    public func post(
        name: NotificationName, sender: NotificationSender? = nil, userInfo: UserInfo = [:]
    ) -> PostRefusal? {
        post(DispatchedNotification(name: name, sender: sender, userInfo: userInfo))
    }

    /// The number of observers. It includes methods of released objects until they are found and removed.
    var observerCount: Int { observers.withLock { $0.count } }

    /// Whether the app has ever handled notifications of a name asynchronously. If so, one that has no observer now
    /// does not count as handled.
    func hasHadAsynchronousObserver(of name: NotificationName) -> Bool {
        observers.withLock { $0.hasHadAsynchronousObserver(of: name) }
    }

    /// Adds a closure as an observer.
    func observe(
        _ interest: Interest, _ kind: ObserverList.Kind = .synchronous, _ call: @escaping ObserverList.Call
    ) -> Observation {
        let number = add(interest, owner: nil, kind, calling: call)
        return Observation(dispatcher: self, number: number)
    }

    private func add(
        _ interest: Interest, owner: NotificationSender?, _ kind: ObserverList.Kind = .synchronous,
        calling call: @escaping ObserverList.Call
    ) -> UInt64 {
        let (number, swept) = observers.withLock { list in
            let number = list.add(interest, owner: owner, kind, calling: call)
            return (number, list.sweepIfGrown())
        }
        withExtendedLifetime(swept) {}
        return number
    }

    fileprivate func remove(_ number: UInt64) {
        // The observer is released outside of the lock, because objects that it holds may call the dispatcher in
        // their deinitializers.
        let removed = observers.withLock { $0.remove(number) }
        withExtendedLifetime(removed) {}
    }
}

/// The registration of one observer. The observer is called for as long as this object exists, unless it was added in
/// NSNotificationCenter's form; the dispatcher keeps those.
public final class Observation: Sendable {
    fileprivate let dispatcher: NotificationDispatcher
    fileprivate let number: UInt64
    /// Whether the observer stays when this object is released.
    private let isKept: Atomic<Bool>

    fileprivate init(dispatcher: NotificationDispatcher, number: UInt64) {
        self.dispatcher = dispatcher
        self.number = number
        isKept = Atomic(false)
    }

    deinit { if !isKept.load(ordering: .relaxed) { end() } }

    /// Returns this observation after marking it as one that stays until it is removed.
    func kept() -> Observation {
        isKept.store(true, ordering: .relaxed)
        return self
    }

    /// Stops calling the observer, even if this object still exists.
    func end() { dispatcher.remove(number) }
}
