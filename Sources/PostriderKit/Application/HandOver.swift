import PostriderCourier
import PostriderNotifications

/// Records for which notifications the observers have been called, so that they get each one once, however often the
/// agent hands it over. An agent that is killed before it has written an acknowledgement hands the notification over
/// again.
///
/// Only one window of deliveries has to be remembered, because the agent hands over in order, and sends the delivery
/// after a whole window only when the first of the window is handled for good.
struct HandOver {
    /// What to do with a delivery.
    enum Step: Equatable {
        /// No observer has seen it: call the observers, then ``observed(_:)``.
        case post
        /// The observers are handling it.
        case wait
        /// The observers have handled it: only acknowledge it.
        case confirm
    }

    private struct Entry {
        let identity: NotificationIdentity
        /// The number of the delivery on the current stream; nil if it has none.
        var delivery: UInt64?
        var isObserved = false
    }

    private var entries: [Entry] = []

    /// The agent has handed over a notification as the delivery with this number.
    mutating func arrived(_ identity: NotificationIdentity, as delivery: UInt64) -> Step {
        if let index = entries.firstIndex(where: { $0.identity == identity }) {
            entries[index].delivery = delivery
            return entries[index].isObserved ? .confirm : .wait
        }
        if entries.count >= DeliveryWindow.largest, let oldest = entries.firstIndex(where: \.isObserved) {
            entries.remove(at: oldest)
        }
        entries.append(Entry(identity: identity, delivery: delivery))
        return .post
    }

    /// Every observer has returned. Returns the delivery to acknowledge; nil if its stream has ended.
    mutating func observed(_ identity: NotificationIdentity) -> UInt64? {
        guard let index = entries.firstIndex(where: { $0.identity == identity }) else { return nil }
        entries[index].isObserved = true
        return entries[index].delivery
    }

    /// An observer has failed. If the agent hands the notification over again, it counts as new. Returns the delivery
    /// that has failed; nil if its stream has ended.
    mutating func failed(_ identity: NotificationIdentity) -> UInt64? {
        guard let index = entries.firstIndex(where: { $0.identity == identity }) else { return nil }
        return entries.remove(at: index).delivery
    }

    /// The stream has ended, and with it the numbers of its deliveries.
    mutating func streamEnded() {
        for index in entries.indices { entries[index].delivery = nil }
    }
}
