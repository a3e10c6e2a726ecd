import PostriderCourier
import PostriderNotifications

/// Which notifications the observers have been called for, so that each is given to them once, however often the
/// agent hands it over: it does so again when it was killed before it could write down that they were handled.
///
/// A window of deliveries is all that needs remembering: the agent hands over in order, and sends the one after a
/// whole window only when the first of it is handled for good.
struct HandOver {
    /// What is to be done with a delivery.
    enum Step: Equatable {
        /// Nobody has seen it: call the observers, then say ``observed(_:)``.
        case post
        /// The observers are at work on it.
        case wait
        /// The observers have had it: only say that it is handled.
        case confirm
    }

    private struct Entry {
        let identity: NotificationIdentity
        /// Its number on the present stream; nil where it has none.
        var delivery: UInt64?
        var isObserved = false
    }

    private var entries: [Entry] = []

    /// The agent has handed over a notification as the delivery of this number.
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

    /// Every observer has returned. The answer is the delivery that is handled, nil where its stream is gone.
    mutating func observed(_ identity: NotificationIdentity) -> UInt64? {
        guard let index = entries.firstIndex(where: { $0.identity == identity }) else { return nil }
        entries[index].isObserved = true
        return entries[index].delivery
    }

    /// An observer has failed: when the agent hands the notification over again, it is new. The answer is the delivery
    /// that has failed, nil where its stream is gone.
    mutating func failed(_ identity: NotificationIdentity) -> UInt64? {
        guard let index = entries.firstIndex(where: { $0.identity == identity }) else { return nil }
        return entries.remove(at: index).delivery
    }

    /// The stream is gone, and with it the numbers of its deliveries.
    mutating func streamEnded() {
        for index in entries.indices { entries[index].delivery = nil }
    }
}
