import Synchronization

extension NotificationDispatcher {
    /// The notifications that are posted from the moment at which this was asked for, to be iterated once:
    ///
    ///     for await push in dispatcher.notifications(of: RemoteNotificationDidArrive.self) {
    ///         try await store(push)
    ///     }
    ///
    /// A notification is confirmed to the agent when it is handled, and not before: when the loop takes its next turn,
    /// or when ``complete(_:)`` or ``fail(_:)`` say so. Where several loops and observers have one notification, it is
    /// confirmed when the last of them has finished.
    ///
    /// A loop that is left in the middle of a notification (by `break`, `return`, an error, or because its iterator is
    /// released, as by `first(where:)`) has not handled it: the agent hands it over again, as what has failed. Call
    /// ``complete(_:)`` before leaving to confirm it. What the loop has not been given yet, and what arrives later,
    /// goes back as well where no other observer handles it. Cancelling the task ends the loop at its next turn, which
    /// still confirms.
    ///
    /// A loop over the notifications of one ``Application`` ends when that has been stopped.
    public struct Notifications<Element: Sendable>: AsyncSequence, Sendable {
        /// It does not throw.
        public typealias Failure = Never

        /// The observation that feeds a sequence; it ends with the sequence, or with its iterator.
        private final class Source: Sendable {
            let feed: NotificationFeed<Element>
            let observation: Observation
            private let isTaken = Atomic(false)

            init(_ feed: NotificationFeed<Element>, _ observation: Observation) {
                self.feed = feed
                self.observation = observation
            }

            deinit { if !isTaken.load(ordering: .relaxed) { feed.end() } }

            /// False if there is an iterator already.
            func take() -> Bool { !isTaken.exchange(true, ordering: .relaxed) }
        }

        private let source: Source

        init(_ feed: NotificationFeed<Element>, _ observation: Observation) {
            source = Source(feed, observation)
        }

        /// Says what became of the notification that the loop was given last, before its next turn would.
        public func complete(_ result: BackgroundFetchResult = .newData) { source.feed.settle(result.end) }

        /// Says that the notification that the loop was given last could not be handled: the agent hands it over
        /// again, later each time, and gives it up after so many attempts, for the device's owner to see.
        ///
        /// - Parameter reason: one sentence for the device's owner.
        public func fail(_ reason: String) { source.feed.settle(.failed(reason)) }

        /// The iterator. There is one: any other has nothing to give.
        public func makeAsyncIterator() -> Iterator {
            source.take() ? Iterator(source.feed, source.observation) : Iterator()
        }

        /// Gives the notifications in order. When the last copy of it is released, the sequence is over.
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

            /// The next notification; nil when there is none any more. Confirms the one before.
            public mutating func next() async -> Element? { await loop?.feed.next() }

            /// The same, on an actor.
            public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
                await loop?.feed.next(isolation: actor)
            }
        }
    }

    /// The notifications of one name from one sender that are posted from now on. ``Notifications`` tells when they are
    /// confirmed.
    ///
    /// - Parameters:
    ///   - name: the name to observe; nil for any name.
    ///   - sender: the sender to observe; nil for any sender, and for notifications without one.
    ///   - scope: notifications are taken only while this scope is switched on; nil for always.
    ///   - limit: how many notifications that nobody waits for, such as the app's own, are kept for a slow loop; the
    ///     oldest beyond this are dropped. Notifications of the agent are not: it hands over no more than the loop
    ///     confirms.
    public func notifications(
        named name: NotificationName? = nil, sender: NotificationSender? = nil,
        in scope: NotificationScope? = nil, limit: Int = 256
    ) -> Notifications<DispatchedNotification> {
        let feed = NotificationFeed<DispatchedNotification>(limit: limit)
        return Notifications(
            feed, observe(Interest(name: name, sender: sender, scope: scope), feeding: feed) { $0 })
    }

    /// The notifications of a type that are posted from now on. ``Notifications`` tells when they are confirmed.
    ///
    /// - Parameters:
    ///   - type: the type of the notifications.
    ///   - sender: the sender to observe; nil for any sender, and for notifications without one.
    ///   - scope: notifications are taken only while this scope is switched on; nil for always.
    ///   - limit: as of ``notifications(named:sender:in:limit:)``.
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

    /// Feeds what can be made of notifications, until the observation ends, or the sender does.
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
