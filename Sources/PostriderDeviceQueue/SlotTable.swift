import PostriderNotifications

/// The notification that holds each slot. Most devices have few that wait: up to a bound they are in an array, which
/// needs no hashing.
package struct SlotTable {
    /// All slots, while ``many`` is empty.
    private var few: [(slot: Slot, row: QueueRow)] = []
    private var many: [Slot: QueueRow] = [:]

    /// More than this many are kept in a hash table.
    private static let mostFew = 8

    /// The row that holds a slot.
    subscript(slot: Slot) -> QueueRow? { many.isEmpty ? few.first { $0.slot == slot }?.row : many[slot] }

    /// Gives a slot to the notification at a row, whoever held it.
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

    /// Frees a slot, if the notification at a row holds it; it holds no other.
    mutating func remove(_ slot: Slot, of row: QueueRow) {
        if let place = few.firstIndex(where: { $0.row == row }) {
            few.remove(at: place)
        } else if many[slot] == row {
            many[slot] = nil
        }
    }
}
