import PostriderNotifications

/// What each delivery under way on a link carries. There are few, a window's worth at most, and the oldest is mostly
/// the first that is acknowledged: no table is faster.
struct DeliveredRows {
    private var entries: [(delivery: UInt64, row: QueueRow)] = []

    /// How many are under way.
    var count: Int { entries.count }

    /// What a delivery carries; nil: it is not under way.
    subscript(delivery: UInt64) -> QueueRow? {
        entries.first { $0.delivery == delivery }?.row
    }

    /// Notes one that is sent now.
    mutating func append(_ delivery: UInt64, _ row: QueueRow) {
        entries.append((delivery, row))
    }

    /// Takes one out that is not under way any more.
    mutating func remove(_ delivery: UInt64) -> QueueRow? {
        guard let place = entries.firstIndex(where: { $0.delivery == delivery }) else { return nil }
        return entries.remove(at: place).row
    }
}
