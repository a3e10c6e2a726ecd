import PostriderCourier
import PostriderNotifications

/// A device's connection, as the device's home sees it: an agent's link, or a browser's WebSocket.
protocol HomeSession: AnyObject {
    /// The connection's number on its shard.
    var number: UInt64 { get }
    /// The process at the other end.
    var party: CloneWatch.Party { get }

    /// Sends a notification as the delivery of this number. Returns false if it stays pending.
    ///
    /// - Parameter push: the number by which the device shall report what becomes of it; 0 if it need not.
    func deliver(_ notification: Notification, as delivery: UInt64, reportedAs push: UInt64) -> Bool

    /// Cuts the connection at once if a rule keeps the device away from this push on.
    func cutIfPlanned(with notification: Notification)

    /// Says goodbye, if the device understands that, and ends the connection.
    func leave(_ reason: Goodbye.Reason, retryAfterMilliseconds: UInt32, _ detail: String)
}

extension DeviceSession: HomeSession {
    func leave(_ reason: Goodbye.Reason, retryAfterMilliseconds: UInt32, _ detail: String) {
        leave(reason, retryAfterMilliseconds: retryAfterMilliseconds, detail, with: nil)
    }
}
