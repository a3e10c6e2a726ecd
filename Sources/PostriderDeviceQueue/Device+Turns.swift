package import PostriderNotifications

/// Notifications that wait in the device's session for one another.
extension Device {
    /// Whether a notification in flight that has waited in its session until now is to be sent. It is not if it was
    /// replaced or dropped, or has expired, in the meantime. Then its deliveries are over.
    ///
    /// - Parameter deliveries: all of its deliveries. It has several if it was replaced for a moment.
    package mutating func isStillToBeSent(
        _ deliveries: [UInt64], now: Moment, _ tally: inout Tally, _ effects: inout [HomeEffect]
    ) -> Bool {
        let row = deliveries.compactMap { link?.rows[$0] }.first { backlog.isPending($0) }
        if let row {
            guard backlog.queue[row]?.hasExpired(at: now) == true else { return true }
            backlog.expire(row, &registrations, &tally, &effects)
        }
        link?.end(deliveries)
        sendNext(now, &tally, &effects)
        return false
    }
}
