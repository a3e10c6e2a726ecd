import PostriderNotifications

// How a push that is sent again is told from another one with the same `apns-id`.

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
