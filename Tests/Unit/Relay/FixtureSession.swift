import PostriderCourier
import PostriderNotifications

@testable import PostriderRelay

/// A device's connection that takes everything, and acknowledges what a test wants.
final class FixtureSession: HomeSession {
    let number: UInt64 = 1
    let party = CloneWatch.Party(instance: 0, address: "")
    private(set) var delivered: [NotificationIdentity] = []
    private(set) var goodbyes: [Goodbye.Reason] = []
    /// The deliveries that the device has not acknowledged, in order.
    var unacknowledged: [UInt64] = []
    /// Whether the device has gone: nothing arrives any more, and its home may not know that yet.
    var isGone = false
    /// Hears of each delivery.
    var onDelivery: (NotificationIdentity) -> Void = { _ in }

    func deliver(_ notification: Notification, as delivery: UInt64, reportedAs push: UInt64) -> Bool {
        guard !isGone else { return true }
        delivered.append(notification.identity)
        unacknowledged.append(delivery)
        onDelivery(notification.identity)
        return true
    }

    func cutIfPlanned(with notification: Notification) {}

    func leave(_ reason: Goodbye.Reason, retryAfterMilliseconds: UInt32, _ detail: String) {
        goodbyes.append(reason)
    }
}
