import PostriderNotifications

// How a push that is sent again is told from another one with the same `apns-id`.

extension Device {
    /// The row that holds a slot. An expired notification does not, even before it was removed.
    mutating func holder(
        of slot: Slot, _ now: Moment, _ tally: inout Tally, _ effects: inout [Effect]
    ) -> QueueRow? {
        guard let row = queue.row(in: slot) else { return nil }
        guard let pending = queue[row], pending.delivery == nil, pending.hasExpired(at: now) else {
            return row
        }
        expire(row, &tally, &effects)
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
}

extension Slot {
    /// Whether only one push may hold the slot: that push itself, also when it is sent again.
    var isOfOnePush: Bool {
        switch self {
        case .identity, .namesake: true
        case .collapse, .latest: false
        }
    }
}

extension Pending {
    /// Removes the notification, which is on the disk, from memory. Its hash stays if the push may be sent again.
    mutating func unload() {
        if slot.isOfOnePush { contentHash = notification?.contentHash ?? contentHash }
        notification = nil
    }

    /// Whether a notification is this push sent again. Nobody knows that of a notification that was on the disk at
    /// start-up and has not been read since: it counts as another, and the device decides whether it has it.
    func isSame(_ other: Notification, now: Moment) -> Bool {
        guard let notification else { return contentHash.map { $0 == other.contentHash } ?? false }
        if other.isSame(as: notification) { return true }
        // It expired while it was in flight: sent again, it is not to be stored.
        return other.expiration == .nowOrNever && hasExpired(at: now)
            && other.isSameButForExpiration(as: notification)
    }
}
