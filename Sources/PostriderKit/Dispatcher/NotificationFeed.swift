import Synchronization

/// The queue of notifications between the dispatcher that posts them and the one task that handles them in order.
///
/// A notification whose handling the agent waits for is never dropped. It has a share in a ``Handling``, which ends
/// when the task reports a result or asks for the next notification. The agent has at most one window
/// (`DeliveryWindow`) of them under way, so it waits for a slow task. Of other notifications, the oldest beyond a
/// limit are dropped.
final class NotificationFeed<Element: Sendable>: Sendable {
    private struct Item {
        let element: Element
        let share: Handling.Share?
    }

    private struct State {
        var items: [Item] = []
        /// The number of queued notifications without a share.
        var unshared = 0
        /// The continuation of the task that waits for the next notification.
        var waiting: CheckedContinuation<Element?, Never>?
        /// The share in the notification that the task got last; nil if it is settled.
        var current: Handling.Share?
        var hasEnded = false
    }

    private let state = Mutex(State())
    private let limit: Int

    /// - Parameter limit: the most queued notifications without a share; at least 1.
    init(limit: Int) { self.limit = max(limit, 1) }

    /// Adds a notification that the dispatcher posts.
    func offer(_ element: Element, _ handling: Handling?) {
        let share = handling?.share()
        guard handling == nil || share != nil else { return }
        let (waiting, excess, isRefused) = state.withLock { state in
            put(Item(element: element, share: share), into: &state)
        }
        if isRefused { share?.finish(.notTaken) }
        waiting?.resume(returning: element)
        withExtendedLifetime(excess) {}
    }

    private func put(_ item: Item, into state: inout State)
        -> (waiting: CheckedContinuation<Element?, Never>?, excess: Item?, isRefused: Bool)
    {
        guard !state.hasEnded else { return (nil, nil, true) }
        if let waiting = state.waiting {
            guard item.share?.begin() != false else { return (nil, nil, true) }
            state.waiting = nil
            state.current = item.share
            return (waiting, nil, false)
        }
        state.items.append(item)
        guard item.share == nil else { return (nil, nil, false) }
        state.unshared += 1
        guard state.unshared > limit, let oldest = state.items.firstIndex(where: { $0.share == nil }) else {
            return (nil, nil, false)
        }
        state.unshared -= 1
        return (nil, state.items.remove(at: oldest), false)
    }

    /// Returns the next notification; nil if the feed has ended or the task is cancelled. Asking for it settles the
    /// one before as handled, unless it was settled otherwise: ``settle(_:)``.
    func next(isolation: isolated (any Actor)? = #isolation) async -> Element? {
        settle(.handled)
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in wait(continuation) }
        } onCancel: {
            end()
        }
    }

    private func wait(_ continuation: CheckedContinuation<Element?, Never>) {
        let (item, isWaiting): (Item?, Bool) = state.withLock { state in
            if Task.isCancelled || state.waiting != nil { return (nil, false) }
            // Notifications that were withdrawn meanwhile are skipped.
            if let index = state.items.firstIndex(where: { $0.share?.begin() != false }) {
                let item = state.items[index]
                state.items.removeFirst(index + 1)
                if item.share == nil { state.unshared -= 1 }
                state.current = item.share
                return (item, false)
            }
            state.items.removeAll()
            guard !state.hasEnded else { return (nil, false) }
            state.waiting = continuation
            return (nil, true)
        }
        if !isWaiting { continuation.resume(returning: item?.element) }
    }

    /// Reports the result of the notification that the task got last.
    func settle(_ end: Handling.End) {
        let share = state.withLock { state in
            defer { state.current = nil }
            return state.current
        }
        share?.finish(end)
    }

    /// The task has ended, perhaps in the middle of handling a notification.
    func abandon() {
        settle(.interrupted)
        end()
    }

    /// Ends the feed: queued notifications are not handled, and the task may finish the one that it is handling.
    func end() {
        let (items, waiting) = state.withLock { state in
            defer {
                state.items = []
                state.unshared = 0
                state.waiting = nil
                state.hasEnded = true
            }
            return (state.items, state.waiting)
        }
        for item in items { item.share?.finish(.notTaken) }
        waiting?.resume(returning: nil)
    }
}

/// Held by an observer's entry in its dispatcher. When the entry is removed, this is released, and the feed ends.
final class FeedHold: Sendable {
    private let end: @Sendable () -> Void
    init(_ end: @escaping @Sendable () -> Void) { self.end = end }
    deinit { end() }
}
