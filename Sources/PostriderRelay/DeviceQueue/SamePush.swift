import PostriderNotifications

// How a push that is sent again is told from another one with the same `apns-id`.

extension Device {
    /// What holds a slot. An expired notification holds it no longer, whether or not anybody has looked since.
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

    /// The slot that a notification takes. Where another push holds the slot of its `apns-id`, it is one of its own: so
    /// whatever holds the slot of one push is that push itself, sent before.
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
    /// Whether only one push may hold it: that push itself, also when it is sent again.
    var isOfOnePush: Bool {
        switch self {
        case .identity, .namesake: true
        case .collapse, .latest: false
        }
    }
}

extension Pending {
    /// Lets go of the notification, which is on the disk. Of one that may be sent again its hash stays.
    mutating func unload() {
        if slot.isOfOnePush { contentHash = notification?.contentHash ?? contentHash }
        notification = nil
    }

    /// Whether a notification is this push sent again. Of one that was found on the disk at the start, and not read
    /// since, nobody knows: then it is another, and the device tells whether it has it.
    func isSame(_ other: Notification, now: Moment) -> Bool {
        guard let notification else { return contentHash.map { $0 == other.contentHash } ?? false }
        if other.isSame(as: notification) { return true }
        // Its time has passed while the device had it in its hands: sent again, it is now or never.
        return other.expiration == .nowOrNever && hasExpired(at: now)
            && other.isSameButForExpiration(as: notification)
    }
}
