import PostriderCourier
import PostriderEndpoints
import PostriderHTTP2
import PostriderNotifications
import PostriderTransport

/// Deliveries, and what rules do to them on a relay for tests (``LinkEffects``).
extension DeviceSession {
    /// A notification with the numbers under which it is sent.
    struct Delivery {
        let notification: Notification
        /// The number by which the device acknowledges it.
        let number: UInt64
        /// The number by which the device reports what becomes of it; 0 if it need not.
        let push: UInt64

        init(_ notification: Notification, number: UInt64, push: UInt64) {
            self.notification = notification
            self.number = number
            self.push = push
        }
    }

    /// Writes a delivery, if the link is open.
    func write(_ delivery: Delivery) {
        guard isLinkOpen else { return }
        carrier.send {
            frameDeliver(
                delivery.notification, delivery: delivery.number, reportedAs: delivery.push, into: &$0)
        }
    }

    /// Writes half of a delivery and ends the connection. The notification is pending again once that has ended.
    func breakOff(_ delivery: Delivery) {
        guard isLinkOpen else { return }
        carrier.send { bytes in
            let start = bytes.count
            frameDeliver(
                delivery.notification, delivery: delivery.number, reportedAs: delivery.push, into: &bytes)
            bytes.removeLast((bytes.count - start + 1) / 2)
        }
        cut(isOrderly: true)
    }

    /// Cuts the connection at once, as if the network were gone, if a rule keeps the device away from this push on.
    func cutIfPlanned(with notification: Notification) {
        guard connections.linkEffects?.cutsLink(with: notification) == true else { return }
        ending = .cut
        connections.left(self)
        cut(isOrderly: false)
    }

    /// Acknowledgements that a rule has held back count now, if this is still the device's connection.
    func acknowledged(_ deliveries: [UInt64]) {
        guard let entry = currentEntry else { return }
        _ = connections.home.acknowledged(deliveries, by: entry)
    }
}
