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
    private var unacknowledged: [UInt64] = []

    func deliver(_ notification: Notification, as delivery: UInt64, reportedAs push: UInt64) -> Bool {
        delivered.append(notification.identity)
        unacknowledged.append(delivery)
        return true
    }

    /// Removes and returns the deliveries that the device has not acknowledged.
    func takeDeliveries() -> [UInt64] {
        defer { unacknowledged = [] }
        return unacknowledged
    }

    func cutIfPlanned(with notification: Notification) {}

    func leave(_ reason: Goodbye.Reason, retryAfterMilliseconds: UInt32, _ detail: String) {
        goodbyes.append(reason)
    }
}
