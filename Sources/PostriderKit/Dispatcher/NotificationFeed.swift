import Synchronization

/// Notifications between the dispatcher that posts them and the one task that handles them, one after the other.
///
/// A notification that the agent waits for is never dropped: it has a share in a ``Handling``, which ends when the
/// task says what became of it, or asks for the next one. The agent has no more under way than a window
/// (`DeliveryWindow`), so it waits for a slow task. Of all others, which nobody waits for, the oldest beyond a limit
/// are dropped.
final class NotificationFeed<Element: Sendable>: Sendable {
    private struct Item {
        let element: Element
        let share: Handling.Share?
    }

    private struct State {
        var items: [Item] = []
        /// How many of them have no share.
        var unshared = 0
        /// The task that waits for the next one.
        var waiting: CheckedContinuation<Element?, Never>?
        /// The share in what the task was given last and has not settled.
        var current: Handling.Share?
        var hasEnded = false
    }

    private let state = Mutex(State())
    private let limit: Int

    /// - Parameter limit: how many wait at most of those that nobody else waits for; at least 1.
    init(limit: Int) { self.limit = max(limit, 1) }

    /// The dispatcher has a notification.
    func offer(_ element: Element, _ handling: Handling?) {
        let share = handling?.share()
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

    /// The next notification; nil when there will be none any more, or the task is cancelled. To ask for it says that
    /// the one before is handled, unless something else was said of that: ``settle(_:)``.
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
            // What was withdrawn meanwhile is passed over.
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

    /// Says what became of the notification that the task was given last.
    func settle(_ end: Handling.End) {
        let share = state.withLock { state in
            defer { state.current = nil }
            return state.current
        }
        share?.finish(end)
    }

    /// The task is gone, perhaps in the middle of handling a notification.
    func abandon() {
        settle(.interrupted)
        end()
    }

    /// There is nothing new any more, and what waits is not handled. What the task is at work on is still its own.
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

/// What an observer's entry in its dispatcher holds: when the entry is removed, so is this, and the feed ends.
final class FeedHold: Sendable {
    private let end: @Sendable () -> Void
    init(_ end: @escaping @Sendable () -> Void) { self.end = end }
    deinit { end() }
}
