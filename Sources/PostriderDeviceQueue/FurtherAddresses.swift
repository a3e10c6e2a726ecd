import PostriderNotifications

/// Further reply addresses of pending notifications, beside the one that each has: of the same push, sent again before
/// it was durable, or of an older push that it replaced.
package struct FurtherAddresses {
    private var addresses: [QueueRow: [ReplyAddress]] = [:]

    /// Whether there is none.
    var isEmpty: Bool { addresses.isEmpty }

    /// Adds an address to the notification at a row.
    mutating func add(_ address: ReplyAddress, to row: QueueRow) {
        addresses[row, default: []].append(address)
    }

    /// The notification at a row takes over the addresses of one that it replaced.
    mutating func move(from older: QueueRow, to row: QueueRow) {
        for address in remove(older) { add(address, to: row) }
    }

    /// Removes and returns those of the notification at a row.
    mutating func remove(_ row: QueueRow) -> [ReplyAddress] {
        addresses.isEmpty ? [] : addresses.removeValue(forKey: row) ?? []
    }
}
