package import PostriderNotifications

/// The cancellation of notifications by their senders.
extension Device {
    /// Whether the notification at a row waits for the device.
    package func isPending(_ row: QueueRow) -> Bool { queue[row] != nil }

    /// The delivery under way of the notification at a row; nil if it is not in flight.
    package func delivery(of row: QueueRow) -> UInt64? { queue[row]?.delivery }

    /// Whether a notification that was replaced is kept, because the newer one is not durable yet.
    package func keepsReplaced(_ row: QueueRow) -> Bool { displaced.values.contains { $0.row == row } }

    /// The sender of a notification cancels it. It is not delivered any more, unless it is in flight already.
    ///
    /// - Returns: whether it was pending for this registration, or was kept because a newer one that has replaced it
    ///   is not durable yet.
    package mutating func cancel(
        _ row: QueueRow, of registration: RegistrationNumber, _ tally: inout Tally,
        _ effects: inout [Effect]
    ) -> Bool {
        if queue[row]?.registration == registration {
            drop(row, .cancelled, answering: .accepted, &tally, &effects)
            return true
        }
        let newer = displaced.first { $1.row == row && $1.registration == registration }?.key
        if let newer { settleDisplaced(by: newer, &effects) }
        return newer != nil
    }
}
