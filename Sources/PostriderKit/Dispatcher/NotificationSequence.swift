import Synchronization

extension NotificationDispatcher {
    /// An asynchronous sequence of the notifications that are posted from its creation on. It can be iterated once:
    ///
    ///     for await push in dispatcher.notifications(of: RemoteNotificationDidArrive.self) {
    ///         try await store(push)
    ///     }
    ///
    /// The agent gets the acknowledgement of a notification only when it is handled: when the loop asks for the next
    /// one, or when ``complete(_:)`` or ``fail(_:)`` is called. If several loops and observers get a notification, it
    /// is acknowledged when the last of them has finished.
    ///
    /// A loop that ends in the middle of a notification (by `break`, `return`, an error, or because its iterator is
    /// released, as by `first(where:)`) has not handled it: the agent hands it over again, as it does with a failed
    /// one. Call ``complete(_:)`` before leaving the loop to acknowledge it. Notifications that the loop has not got
    /// yet, and later ones, go back to the agent as well if no other observer handles them. Cancelling the task ends
    /// the loop when it asks for the next notification, which still acknowledges the last one.
    ///
    /// A loop over the notifications of one ``Application`` ends when the application has been stopped.
    public struct Notifications<Element: Sendable>: AsyncSequence, Sendable {
        /// The sequence does not throw.
        public typealias Failure = Never

        /// The observation that feeds a sequence. It ends when the sequence, or its iterator, is released.
        private final class Source: Sendable {
            let feed: NotificationFeed<Element>
            let observation: Observation
            private let isTaken = Atomic(false)

            init(_ feed: NotificationFeed<Element>, _ observation: Observation) {
                self.feed = feed
                self.observation = observation
            }

            deinit { if !isTaken.load(ordering: .relaxed) { feed.end() } }

            /// Claims the sequence for an iterator; returns false if it has one already.
            func take() -> Bool { !isTaken.exchange(true, ordering: .relaxed) }
        }

        private let source: Source

        init(_ feed: NotificationFeed<Element>, _ observation: Observation) {
            source = Source(feed, observation)
        }

        /// Reports the result of the notification that the loop got last, before the loop asks for the next one.
        public func complete(_ result: BackgroundFetchResult = .newData) { source.feed.settle(result.end) }

        /// Reports that the notification that the loop got last could not be handled. The agent hands it over again
        /// with growing delays, and after a number of attempts keeps it as a dead letter for the device's owner.
        ///
        /// - Parameter reason: one sentence for the device's owner.
        public func fail(_ reason: String) { source.feed.settle(.failed(reason)) }

        /// Creates the iterator. The first one gets the notifications; any further one is empty.
        public func makeAsyncIterator() -> Iterator {
            source.take() ? Iterator(source.feed, source.observation) : Iterator()
        }

        /// Returns the notifications in order. The sequence ends when the last copy of its iterator is released.
        public struct Iterator: AsyncIteratorProtocol {
            private final class Loop {
                let feed: NotificationFeed<Element>
                let observation: Observation

                init(_ feed: NotificationFeed<Element>, _ observation: Observation) {
                    self.feed = feed
                    self.observation = observation
                }

                deinit {
                    observation.end()
                    feed.abandon()
                }
            }

            private let loop: Loop?

            fileprivate init() { loop = nil }

            fileprivate init(_ feed: NotificationFeed<Element>, _ observation: Observation) {
                loop = Loop(feed, observation)
            }

            /// Returns the next notification; nil if there are no more. It acknowledges the one before.
            public mutating func next() async -> Element? { await loop?.feed.next() }

            /// Returns the next notification on an actor; nil if there are no more. It acknowledges the one before.
            public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
                await loop?.feed.next(isolation: actor)
            }
        }
    }

    /// A sequence of the notifications of one name from one sender that are posted from now on. ``Notifications``
    /// describes when they are acknowledged.
    ///
    /// - Parameters:
    ///   - name: the name to observe; nil for any name.
    ///   - sender: the sender to observe; nil for any sender, and for notifications without one.
    ///   - scope: notifications are included only while this scope is on; nil for always.
    ///   - limit: the most notifications, such as the app's own, that are queued for a slow loop; the oldest beyond
    ///     this are dropped. Notifications from the agent are not dropped: it hands over no more than the loop
    ///     acknowledges.
    public func notifications(
        named name: NotificationName? = nil, sender: NotificationSender? = nil,
        in scope: NotificationScope? = nil, limit: Int = 256
    ) -> Notifications<DispatchedNotification> {
        let feed = NotificationFeed<DispatchedNotification>(limit: limit)
        return Notifications(
            feed, observe(Interest(name: name, sender: sender, scope: scope), feeding: feed) { $0 })
    }

    /// A sequence of the notifications of a type that are posted from now on. ``Notifications`` describes when they
    /// are acknowledged.
    ///
    /// - Parameters:
    ///   - type: the type of the notifications.
    ///   - sender: the sender to observe; nil for any sender, and for notifications without one.
    ///   - scope: notifications are included only while this scope is on; nil for always.
    ///   - limit: see ``notifications(named:sender:in:limit:)``.
    public func notifications<Notification: TypedNotification>(
        of type: Notification.Type, sender: NotificationSender? = nil, in scope: NotificationScope? = nil,
        limit: Int = 256
    ) -> Notifications<Notification> {
        let feed = NotificationFeed<Notification>(limit: limit)
        return Notifications(
            feed,
            observe(Interest(name: type.name, sender: sender, scope: scope), feeding: feed) {
                $0.typed(as: type)
            })
    }

    /// Feeds each notification from which `element` makes a value, until the observation or the sender ends.
    func observe<Element: Sendable>(
        _ interest: Interest, feeding feed: NotificationFeed<Element>,
        _ make: @escaping @Sendable (DispatchedNotification) -> Element?
    ) -> Observation {
        let hold = FeedHold { feed.end() }
        return observe(interest, .fed) { notification in
            withExtendedLifetime(hold) {
                if let element = make(notification) { feed.offer(element, notification.handling) }
            }
            return true
        }
    }
}
