import PostriderNotifications

/// The rows of the deliveries under way on a link. There are at most as many as the window, and the oldest is mostly
/// acknowledged first, so an array is faster than any table.
package struct DeliveredRows {
    private var entries: [(delivery: UInt64, row: QueueRow)] = []

    /// How many deliveries are under way.
    var count: Int { entries.count }

    /// The row of a delivery; nil if it is not under way.
    subscript(delivery: UInt64) -> QueueRow? {
        entries.first { $0.delivery == delivery }?.row
    }

    /// Adds a delivery.
    mutating func append(_ delivery: UInt64, _ row: QueueRow) {
        entries.append((delivery, row))
    }

    /// Removes a delivery and returns its row.
    mutating func remove(_ delivery: UInt64) -> QueueRow? {
        guard let place = entries.firstIndex(where: { $0.delivery == delivery }) else { return nil }
        return entries.remove(at: place).row
    }
}
