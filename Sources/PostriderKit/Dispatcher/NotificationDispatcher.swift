import Synchronization

/// Brings notifications to the observers of an app, in the manner of NSNotificationCenter.
///
/// - An observer asks for one name or any, and for one sender or any.
/// - Posting calls every observer that asked for it, in the order in which they were added, on the poster's thread,
///   and returns when the last has returned. Anyone may post from any thread, an observer included.
/// - The other forms of observers (`on:`, `onMainActor:`, `handling:`, ``notifications(named:sender:in:limit:)``) run
///   elsewhere, later: a post does not wait for them. A notification of the agent is confirmed when all its observers
///   have finished, of whatever form.
/// - An observer that is removed while a post runs, before its turn, is not called; one that is added then sees the
///   next post. A call that is already running on another thread runs to its end.
/// - Observers that are bound to a ``NotificationScope`` are passed over while it is switched off.
/// - What happens to the device is told by its agent alone: an app's own post of a name of the system's
///   (``NotificationName/isSystems``) calls nobody, and answers why.
/// - No lock is held while an observer runs, nor while something that it holds is released.
public final class NotificationDispatcher: Sendable {
    /// What an observer does with a notification, on the thread of whoever posts it.
    public typealias Observer = @Sendable (DispatchedNotification) -> Void

    /// The dispatcher of the app, to which remote, local and system notifications are posted.
    public static let `default` = NotificationDispatcher()

    private let observers = Mutex(ObserverList())

    /// A dispatcher without observers.
    public init() {}

    /// Calls `observer` for notifications of one name from one sender, until the observation that this returns is
    /// released or removed.
    ///
    /// - Parameters:
    ///   - name: the name to observe; nil for any name.
    ///   - sender: the sender to observe; nil for any sender, and for notifications without one.
    ///   - scope: the observer is called only while this scope is switched on; nil for always.
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

    /// Calls a method of `object` for notifications of one name from one sender, for as long as the object is there:
    ///
    ///     dispatcher.addObserver(screen, calling: Screen.showOrder, named: .orderShipped)
    ///
    /// The object is not kept alive, but for the time of a call. The same method may be added several times, and is
    /// called as often.
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

    /// Ends an observation now. Ending it twice, or one of another dispatcher, does nothing.
    public func removeObserver(_ observation: Observation) {
        if observation.dispatcher === self { remove(observation.number) }
    }

    /// Calls methods of `object` no longer: those that were added with this name and this sender, or all of them
    /// where nothing else is said. An object may do so while it is released; it need not.
    public func removeObserver(
        _ object: NotificationSender, named name: NotificationName? = nil, sender: NotificationSender? = nil
    ) {
        let removed = observers.withLock { $0.remove(ownedBy: object, name, sender) }
        withExtendedLifetime(removed) {}
    }

    /// Calls the observers of a notification.
    ///
    /// - Returns: why nobody was called; nil: everybody was who had asked for it.
    @discardableResult
    public func post(_ notification: DispatchedNotification) -> PostRefusal? {
        guard !notification.name.isSystems else { return PostRefusal(of: notification.name) }
        deliver(notification)
        return nil
    }

    /// Calls the observers of a notification, whoever it is of.
    ///
    /// - Returns: how many were called.
    @discardableResult
    func deliver(_ notification: DispatchedNotification) -> Int {
        var called = 0
        for number in observers.withLock({ $0.numbers(for: notification) }) {
            guard let observer = observers.withLock({ $0.observer(number) }) else { continue }
            if observer(notification) { called += 1 } else { remove(number) }
        }
        return called
    }

    /// Ends the asynchronous observers of one sender, which has ended.
    func ended(_ sender: NotificationSender) {
        let removed = observers.withLock { $0.removeThoseEnding(with: sender) }
        withExtendedLifetime(removed) {}
    }

    /// Calls the observers of a notification with this name, sender and content.
    ///
    /// - Returns: why nobody was called; nil: everybody was who had asked for it.
    @discardableResult
    public func post(
        name: NotificationName, sender: NotificationSender? = nil, userInfo: UserInfo = [:]
    ) -> PostRefusal? {
        post(DispatchedNotification(name: name, sender: sender, userInfo: userInfo))
    }

    /// How many observers it holds, those of objects that are gone included as long as nobody has noticed.
    var observerCount: Int { observers.withLock { $0.count } }

    /// Whether the app has ever handled notifications of a name asynchronously: one that nobody observes now is then
    /// not taken for handled.
    func hasHadAsynchronousObserver(of name: NotificationName) -> Bool {
        observers.withLock { $0.hasHadAsynchronousObserver(of: name) }
    }

    /// Adds an observer that is a closure.
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
        // The observer leaves the lock before it is released: what it holds may come back here as it goes.
        let removed = observers.withLock { $0.remove(number) }
        withExtendedLifetime(removed) {}
    }
}

/// The registration of one observer. The observer is called for as long as someone holds this, unless it was added in
/// NSNotificationCenter's form, which keeps it.
public final class Observation: Sendable {
    fileprivate let dispatcher: NotificationDispatcher
    fileprivate let number: UInt64
    /// Whether the observer stays when this is released.
    private let isKept: Atomic<Bool>

    fileprivate init(dispatcher: NotificationDispatcher, number: UInt64) {
        self.dispatcher = dispatcher
        self.number = number
        isKept = Atomic(false)
    }

    deinit { if !isKept.load(ordering: .relaxed) { end() } }

    /// The same, of an observer that stays until it is removed.
    func kept() -> Observation {
        isKept.store(true, ordering: .relaxed)
        return self
    }

    /// The observer is not called any more, though someone may still hold this.
    func end() { dispatcher.remove(number) }
}
