import PostriderNotifications

/// Notifications that newer ones have replaced and that a 200 was given for, by the row of the newer one.
///
/// An older one stays on the disk until the newer one is durable or delivered. If the newer one cannot be made durable,
/// the older one becomes pending again, because its provider was promised that it is kept.
package struct ReplacedNotifications {
    private var older: [QueueRow: Pending] = [:]

    /// Whether none is kept.
    var isEmpty: Bool { older.isEmpty }

    /// Whether the notification at a row is kept.
    func keeps(_ row: QueueRow) -> Bool { older.values.contains { $0.row == row } }

    /// The row of the newer notification because of which the one at a row of this registration is kept.
    func newer(than row: QueueRow, of registration: RegistrationNumber) -> QueueRow? {
        older.first { $1.row == row && $1.registration == registration }?.key
    }

    /// Keeps a notification until the one at `newer` is durable. If that has replaced one before, the younger of these
    /// two stands for both.
    ///
    /// - Returns: the row of the other one, which is removed from the disk.
    mutating func keep(_ pending: Pending, until newer: QueueRow) -> QueueRow? {
        guard let other = older.updateValue(pending, forKey: newer) else { return nil }
        if other.row > pending.row { older[newer] = other }
        return min(other.row, pending.row)
    }

    /// Removes and returns the notification that the one at `newer` has replaced.
    mutating func remove(by newer: QueueRow) -> Pending? {
        older.isEmpty ? nil : older.removeValue(forKey: newer)
    }

    /// The rows of newer notifications of a slot, up to `row` and in order.
    func newer(in slot: Slot, upTo row: QueueRow) -> [QueueRow] {
        older.isEmpty ? [] : older.keys.sorted().filter { $0 <= row && older[$0]?.slot == slot }
    }
}
