import PostriderNotifications

/// Collapse: of the notifications in a slot, the newest replaces the others, and a push that is sent again is merged
/// with the first.
extension Backlog {
    /// The row that holds a slot. An expired notification does not, even before it was removed.
    mutating func holder(
        of slot: Slot, _ now: Moment, _ registrations: inout DeviceRegistrations, _ tally: inout Tally,
        _ effects: inout [HomeEffect]
    ) -> QueueRow? {
        guard let row = queue.row(in: slot) else { return nil }
        guard let pending = queue[row], pending.delivery == nil, pending.hasExpired(at: now) else {
            return row
        }
        expire(row, &registrations, &tally, &effects)
        return nil
    }

    /// The slot that a notification takes. If another push holds the slot of its `apns-id`, it gets a slot of its own.
    /// So the holder of a push's slot is always that same push, sent before.
    func slot(of notification: Notification, in slot: Slot, _ now: Moment) -> Slot {
        guard case .identity(let registration, let identity) = slot else { return slot }
        let holder = queue.row(in: slot)
        if let holder, queue[holder]?.isSame(notification, now: now) ?? true { return slot }
        var number = notification.contentHash
        while let row = queue.row(in: .namesake(registration, identity, number)) {
            if queue[row]?.isSame(notification, now: now) ?? true { break }
            number &+= 1
        }
        let other = Slot.namesake(registration, identity, number)
        return holder == nil && queue.row(in: other) == nil ? slot : other
    }

    /// The slot of a notification that was read from the disk at start-up.
    func slot(ofRestored entry: QueueEntry, _ rules: DeviceRules) -> Slot {
        let slot = rules.storage == .latest ? .latest(entry.registration) : entry.slot
        guard case .identity(let registration, let identity) = slot, queue.row(in: slot) != nil else {
            return slot
        }
        // These are two pushes with one `apns-id`. Nobody knows whether they are the same: the device finds out.
        return .namesake(registration, identity, Int(truncatingIfNeeded: entry.row.value))
    }

    /// Whether the holder of a slot is replaced by a newer notification. If only the latest waits, a notification that
    /// is in flight does not count as waiting.
    func isReplaceable(_ older: QueueRow, in slot: Slot) -> Bool {
        guard case .latest = slot else { return true }
        return queue[older]?.delivery == nil
    }

    /// The same push arrives again while the first is still pending: there is one notification with two reply
    /// addresses.
    mutating func merge(
        _ address: ReplyAddress, into row: QueueRow, _ tally: inout Tally, _ effects: inout [HomeEffect]
    ) {
        tally.replaced += 1
        if let pending = queue[row], pending.address != nil {
            addresses.add(address, to: row)
        } else {
            effects.append(.answer(address, .accepted))
        }
    }

    /// Takes an older notification out of the slot that a newer one takes. If the older one is on the disk, its
    /// provider was told 200, so it stays on the disk until the newer one is durable. If not, it is settled at once and
    /// its provider, which still waits, gets the newer one's answer; that case is returned.
    mutating func supersede(
        _ older: QueueRow, by row: QueueRow, _ registrations: inout DeviceRegistrations,
        _ tally: inout Tally, _ effects: inout [HomeEffect]
    ) -> Pending? {
        guard var pending = takeOut(older, &registrations, &tally) else { return nil }
        tally.replaced += 1
        effects.append(.note(.replaced, older, detail: row.value))
        if let address = pending.address { addresses.add(address, to: row) }
        addresses.move(from: older, to: row)
        if pending.durability == .stored {
            pending.notification = nil
            pending.delivery = nil
            keep(pending, until: row, &effects)
            return nil
        }
        if let oldest = replaced.remove(by: older) { keep(oldest, until: row, &effects) }
        return pending
    }

    /// Replaces the holder of the slot of a notification that is read from the disk at start-up, where both are.
    mutating func settleHolder(
        of slot: Slot, by row: QueueRow, _ registrations: inout DeviceRegistrations, _ tally: inout Tally,
        _ effects: inout [HomeEffect]
    ) {
        guard let older = queue.row(in: slot), let pending = takeOut(older, &registrations, &tally) else {
            return
        }
        tally.replaced += 1
        effects.append(.note(.replaced, older, detail: row.value))
        settle(pending, &effects)
    }

    /// If only the latest of an app waits: notifications that were in flight wait again, and all but the newest are
    /// replaced.
    mutating func keepLatest(
        _ registrations: inout DeviceRegistrations, _ tally: inout Tally, _ effects: inout [HomeEffect]
    ) {
        var latest: [RegistrationNumber: QueueRow] = [:]
        for row in queue.rows(where: { $0.slot == .latest($0.registration) }) {
            guard let pending = queue[row] else { continue }
            if let older = latest.updateValue(row, forKey: pending.registration) {
                if let unanswered = supersede(older, by: row, &registrations, &tally, &effects) {
                    settle(unanswered, &effects)
                }
                if pending.durability == .stored {
                    settleReplaced(by: row, &effects)
                    answerAll(pending, .accepted, &effects)
                }
            }
            queue.claimSlot(for: row)
        }
    }

    /// Leaves an older notification on the disk until the one at `row` is durable.
    mutating func keep(_ older: Pending, until row: QueueRow, _ effects: inout [HomeEffect]) {
        if let other = replaced.keep(older, until: row) { effects.append(.settle(other)) }
    }

    /// The newer notification is durable or settled: the older one that it replaced is removed.
    mutating func settleReplaced(by row: QueueRow, _ effects: inout [HomeEffect]) {
        if let older = replaced.remove(by: row) { effects.append(.settle(older.row)) }
    }

    /// The same for all notifications of a slot up to `row`. If only the latest waits, those before it that are in
    /// flight were not replaced by it, and need not keep what they have replaced any longer.
    mutating func settleReplaced(upTo row: QueueRow, in slot: Slot, _ effects: inout [HomeEffect]) {
        guard case .latest = slot else { return settleReplaced(by: row, &effects) }
        for newer in replaced.newer(in: slot, upTo: row) { settleReplaced(by: newer, &effects) }
    }

    /// Drops the oldest notifications of lowest priority while an app has as many pending as allowed.
    mutating func makeRoom(
        in registration: RegistrationNumber, _ registrations: inout DeviceRegistrations,
        _ tally: inout Tally, _ effects: inout [HomeEffect]
    ) {
        while registrations.isFull(registration), let row = queue.leastImportant(of: registration) {
            drop(
                row, .overflow, answering: .rejected(.tooManyRequests), &registrations, &tally, &effects)
        }
    }
}
