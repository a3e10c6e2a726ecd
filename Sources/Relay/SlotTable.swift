import Notifications

/// Which notification holds each slot. Most devices have few that wait: then no hash is needed.
struct SlotTable {
    /// All of them, as long as ``many`` is empty.
    private var few: [(slot: Slot, row: QueueRow)] = []
    private var many: [Slot: QueueRow] = [:]

    /// More than so many are kept by their hashes.
    private static let mostFew = 8

    /// Who holds a slot.
    subscript(slot: Slot) -> QueueRow? {
        get { many.isEmpty ? few.first { $0.slot == slot }?.row : many[slot] }
        set {
            guard let row = newValue else { return remove(slot) }
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
    }

    /// Frees a slot, if it is held by the notification at a row.
    mutating func remove(_ slot: Slot, of row: QueueRow) {
        if many.isEmpty, few.count == 1 {
            if few[0].row == row { few.removeLast() }
        } else if self[slot] == row {
            remove(slot)
        }
    }

    private mutating func remove(_ slot: Slot) {
        guard many.isEmpty else { return many[slot] = nil }
        few.removeAll { $0.slot == slot }
    }
}
