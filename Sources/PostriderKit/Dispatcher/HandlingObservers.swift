public import Dispatch

// Observers that run after a post has returned. The post does not wait for them; the acknowledgement to the agent
// does.
extension NotificationDispatcher {
    /// Calls `observer` on a queue for notifications of one name from one sender, until the returned observation is
    /// released or removed. The agent gets the acknowledgement of a notification when the observer has returned. An
    /// observer that is removed before its turn, or whose scope is off by then, is not called.
    ///
    /// - Parameters:
    ///   - name: the name to observe; nil for any name.
    ///   - sender: the sender to observe; nil for any sender, and for notifications without one.
    ///   - scope: the observer is called only while this scope is on; nil for always.
    ///   - queue: the queue on which the observer is called, such as `.main`.
    ///   - observer: called with each notification.
    public func addObserver(
        named name: NotificationName? = nil, sender: NotificationSender? = nil,
        in scope: NotificationScope? = nil, on queue: DispatchQueue, using observer: @escaping Observer
    ) -> Observation {
        observe(Interest(name: name, sender: sender, scope: scope), on: queue, observer)
    }

    /// Calls `observer` on a queue with each notification of a type.
    public func addObserver<Notification: TypedNotification>(
        of type: Notification.Type, sender: NotificationSender? = nil, in scope: NotificationScope? = nil,
        on queue: DispatchQueue, using observer: @escaping @Sendable (Notification) -> Void
    ) -> Observation {
        addObserver(named: type.name, sender: sender, in: scope, on: queue) { notification in
            if let notification = notification.typed(as: type) { observer(notification) }
        }
    }

    /// Has the form of NSNotificationCenter's method: calls `block` on a queue, or on the posting thread if `queue`
    /// is nil, until the observation is given to ``removeObserver(_:)``. The dispatcher keeps the observer; it does
    /// not end when the returned observation is released.
    public func addObserver(
        forName name: NotificationName?, object sender: NotificationSender?, queue: DispatchQueue?,
        using block: @escaping Observer
    ) -> Observation {
        let interest = Interest(name: name, sender: sender, scope: nil)
        let observation =
            if let queue {
                observe(interest, on: queue, block)
            } else {
                observe(interest) { notification in
                    block(notification)
                    return true
                }
            }
        return observation.kept()
    }

    /// Calls `observer` on the main actor for notifications of one name from one sender, one after the other. The
    /// agent gets the acknowledgement of a notification when the observer has returned.
    ///
    /// - Parameters:
    ///   - name: the name to observe; nil for any name.
    ///   - sender: the sender to observe; nil for any sender, and for notifications without one.
    ///   - scope: the observer is called only while this scope is on; nil for always.
    ///   - limit: see ``notifications(named:sender:in:limit:)``.
    ///   - observer: called with each notification.
    public func addObserver(
        named name: NotificationName? = nil, sender: NotificationSender? = nil,
        in scope: NotificationScope? = nil, limit: Int = 256,
        onMainActor observer: @escaping @MainActor @Sendable (DispatchedNotification) -> Void
    ) -> Observation {
        addObserver(named: name, sender: sender, in: scope, limit: limit) { notification in
            await observer(notification)
            return .newData
        }
    }

    /// Calls `observer` on the main actor with each notification of a type, one after the other.
    public func addObserver<Notification: TypedNotification>(
        of type: Notification.Type, sender: NotificationSender? = nil, in scope: NotificationScope? = nil,
        limit: Int = 256, onMainActor observer: @escaping @MainActor @Sendable (Notification) -> Void
    ) -> Observation {
        addObserver(of: type, sender: sender, in: scope, limit: limit) { notification in
            await observer(notification)
            return .newData
        }
    }

    /// Calls an asynchronous observer for notifications of one name from one sender, one after the other, in its own
    /// task. Its return value is the result of handling the notification, as in iOS's `fetchCompletionHandler`. If it
    /// throws, the handling has failed, with the error's description as the reason.
    ///
    /// A call that is running when the observation ends runs to its end. Notifications whose turn has not come are
    /// not handled.
    ///
    /// - Parameters:
    ///   - name: the name to observe; nil for any name.
    ///   - sender: the sender to observe; nil for any sender, and for notifications without one.
    ///   - scope: the observer is called only while this scope is on; nil for always.
    ///   - limit: see ``notifications(named:sender:in:limit:)``.
    ///   - observer: called with each notification.
    public func addObserver(
        named name: NotificationName? = nil, sender: NotificationSender? = nil,
        in scope: NotificationScope? = nil, limit: Int = 256,
        handling observer: @escaping @Sendable (DispatchedNotification) async throws -> BackgroundFetchResult
    ) -> Observation {
        let feed = NotificationFeed<DispatchedNotification>(limit: limit)
        let observation = observe(
            Interest(name: name, sender: sender, scope: scope), feeding: feed
        ) { $0 }
        feed.work { notification in
            try await Handling.$current.withValue(notification.handling) { try await observer(notification) }
        }
        return observation
    }

    /// Calls an asynchronous observer with each notification of a type, one after the other, in its own task.
    public func addObserver<Notification: TypedNotification>(
        of type: Notification.Type, sender: NotificationSender? = nil, in scope: NotificationScope? = nil,
        limit: Int = 256,
        handling observer: @escaping @Sendable (Notification) async throws -> BackgroundFetchResult
    ) -> Observation {
        let feed = NotificationFeed<(Notification, Handling?)>(limit: limit)
        let observation = observe(
            Interest(name: type.name, sender: sender, scope: scope), feeding: feed
        ) { notification in notification.typed(as: type).map { ($0, notification.handling) } }
        feed.work { notification, handling in
            try await Handling.$current.withValue(handling) { try await observer(notification) }
        }
        return observation
    }

    private func observe(_ interest: Interest, on queue: DispatchQueue, _ observer: @escaping Observer)
        -> Observation
    {
        // The entry of the observer holds this. Once it is removed, calls that wait in the queue do nothing.
        let hold = FeedHold {}
        let scope = interest.scope
        return observe(interest, .queued) { notification in
            let share = notification.handling?.share()
            guard notification.handling == nil || share != nil else { return true }
            queue.async { [weak hold] in
                guard hold != nil, scope?.isOn != false, share?.begin() != false else {
                    share?.finish(.notTaken)
                    return
                }
                Handling.$current.withValue(notification.handling) { observer(notification) }
                share?.finish(.handled)
            }
            return withExtendedLifetime(hold) { true }
        }
    }
}

extension NotificationFeed {
    /// Handles one notification after the other in its own task, until the feed ends.
    fileprivate func work(
        _ handle: @escaping @Sendable (Element) async throws -> BackgroundFetchResult
    ) {
        Task {
            while let element = await next() {
                do {
                    settle(try await handle(element).end)
                } catch {
                    settle(.failed("\(error)"))
                }
            }
        }
    }
}
