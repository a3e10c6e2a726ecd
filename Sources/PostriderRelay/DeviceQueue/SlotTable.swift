import PostriderNotifications

/// Which notification holds each slot. Most devices have few that wait: then no hash is needed.
struct SlotTable {
    /// All of them, as long as ``many`` is empty.
    private var few: [(slot: Slot, row: QueueRow)] = []
    private var many: [Slot: QueueRow] = [:]

    /// More than so many are kept by their hashes.
    private static let mostFew = 8

    /// Who holds a slot.
    subscript(slot: Slot) -> QueueRow? { many.isEmpty ? few.first { $0.slot == slot }?.row : many[slot] }

    /// Has the notification at a row hold a slot, whoever held it.
    mutating func put(_ row: QueueRow, in slot: Slot) {
        guard many.isEmpty else { return many[slot] = row }
        if let place = few.firstIndex(where: { $0.slot == slot }) {
            few[place].row = row
        } else if few.count < Self.mostFew {
            few.append((slot, row))
        } else {
            many = Dictionary(uniqueKeysWithValues: few.map { ($0.slot, $0.row) })
            many[slot] = row
            few = []
        }
    }

    /// Frees a slot, if it is held by the notification at a row, which holds no other.
    mutating func remove(_ slot: Slot, of row: QueueRow) {
        if let place = few.firstIndex(where: { $0.row == row }) {
            few.remove(at: place)
        } else if many[slot] == row {
            many[slot] = nil
        }
    }
}
