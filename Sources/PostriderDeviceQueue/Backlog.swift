import PostriderCourier
package import PostriderNotifications

/// The notifications that wait for one device, and what their providers were promised: a provider that waits is
/// answered once, and what was answered with 200 stays on the disk until it is delivered, expired or replaced for good.
///
/// It counts each notification for its registration and in the shard's tally.
package struct Backlog {
    package internal(set) var queue = PendingQueue()
    /// Those that were replaced and are kept for the time being.
    var replaced = ReplacedNotifications()
    var addresses = FurtherAddresses()

    /// Whether the notification at a row waits for the device.
    package func isPending(_ row: QueueRow) -> Bool { queue[row] != nil }

    /// The delivery under way of the notification at a row; nil if it is not in flight.
    package func delivery(of row: QueueRow) -> UInt64? { queue[row]?.delivery }

    /// Whether a notification that was replaced is kept, because the newer one is not durable yet.
    package func keepsReplaced(_ row: QueueRow) -> Bool { replaced.keeps(row) }

    // MARK: The beginning

    /// Puts a notification that was accepted now at the end of the queue. One that is not to be stored is only
    /// attempted once, so its provider is answered at once.
    mutating func accept(
        _ notification: Notification,
        at row: QueueRow,
        in slot: Slot,
        _ address: ReplyAddress,
        _ registrations: inout DeviceRegistrations,
        _ tally: inout Tally,
        _ effects: inout [HomeEffect]
    ) {
        let expiresAt: Moment? =
            switch notification.expiration {
            case .nowOrNever: nil
            case .at(let moment): moment
            }
        let pending = Pending(
            row: row,
            slot: slot,
            registration: notification.registration,
            priority: notification.priority,
            expiresAt: expiresAt,
            notification: notification,
            durability: expiresAt == nil ? .memoryOnly : .new,
            acceptedSecond: notification.acceptedAt.wholeSeconds,
            address: expiresAt == nil ? nil : address,
            delivery: nil
        )
        append(pending, &registrations, &tally)
        if expiresAt == nil { effects.append(.answer(address, .accepted)) }
    }

    /// Puts a notification that was read from the disk at the end of the queue.
    mutating func restore(
        _ entry: QueueEntry, in slot: Slot, _ registrations: inout DeviceRegistrations, _ tally: inout Tally
    ) {
        let pending = Pending(
            row: entry.row,
            slot: slot,
            registration: entry.registration,
            priority: entry.priority,
            expiresAt: entry.expiresAt,
            notification: nil,
            durability: .stored,
            acceptedSecond: entry.acceptedAt.wholeSeconds,
            address: nil,
            delivery: nil
        )
        append(pending, &registrations, &tally)
    }

    private mutating func append(
        _ pending: consuming Pending, _ registrations: inout DeviceRegistrations, _ tally: inout Tally
    ) {
        registrations.count(1, pendingFor: pending.registration)
        tally.pending += 1
        queue.append(pending)
    }

    // MARK: The disk

    /// The notification at a row is durable: the provider is told, and what it has replaced is removed. It stays in
    /// memory only if it is in flight or `staysInMemory`.
    mutating func noteStored(_ row: QueueRow, staysInMemory: Bool, _ effects: inout [HomeEffect]) {
        guard let pending = queue[row] else { return }
        effects.append(.note(.stored, row))
        settleReplaced(upTo: row, in: pending.slot, &effects)
        queue.update(row) { pending in
            pending.durability = .stored
            pending.address = nil
            if !staysInMemory, pending.delivery == nil { pending.unload() }
        }
        answerAll(pending, .accepted, &effects)
    }

    /// The notification at a row cannot be made durable.
    mutating func noteUnstorable(
        _ row: QueueRow, answering rejection: Rejection, _ registrations: inout DeviceRegistrations,
        _ tally: inout Tally, _ effects: inout [HomeEffect]
    ) {
        if delivery(of: row) != nil {
            // The device has the notification: its acknowledgement makes it as safe as the disk would.
            queue.update(row) { $0.durability = .memoryOnly }
        } else if isPending(row) {
            giveUp(row, answering: rejection, &registrations, &tally, &effects)
        }
    }

    /// A notification cannot be made durable. The older one that it replaced becomes pending again, unless a newer one
    /// has replaced both meanwhile. A notification that was not to be stored was answered when it arrived; a provider
    /// that still waits for it waits because it replaced an earlier push that is not durable, and is told to repeat
    /// that.
    private mutating func giveUp(
        _ row: QueueRow, answering rejection: Rejection, _ registrations: inout DeviceRegistrations,
        _ tally: inout Tally, _ effects: inout [HomeEffect]
    ) {
        let older = replaced.remove(by: row)
        if queue[row]?.expiresAt == nil, let pending = takeOut(row, &registrations, &tally) {
            tally.discarded += 1
            effects.append(.note(.discarded, row))
            answerAll(pending, .rejected(rejection), &effects)
        } else {
            drop(row, .unstorable, answering: .rejected(rejection), &registrations, &tally, &effects)
        }
        guard let older else { return }
        if let newest = queue.row(in: older.slot) {
            keep(older, until: newest, &effects)
            if queue[newest]?.durability == .stored { settleReplaced(by: newest, &effects) }
            return
        }
        queue.putBack(older)
        effects.append(.note(.recalled, older.row))
        registrations.count(1, pendingFor: older.registration)
        tally.pending += 1
        tally.replaced -= 1
        tally.recalled += 1
    }

    // MARK: The link

    /// The device's connection is gone: notifications in flight are pending again, except those that are not to be
    /// stored, and none that is on the disk stays in memory.
    mutating func rewind(
        _ registrations: inout DeviceRegistrations, _ tally: inout Tally, _ effects: inout [HomeEffect]
    ) {
        for row in queue.rows(where: { $0.durability == .memoryOnly }) {
            giveUp(row, answering: .serviceUnavailable, &registrations, &tally, &effects)
        }
        for row in queue.rows(where: { $0.delivery != nil }) { effects.append(.note(.returned, row)) }
        queue.rewind()
        keepLatest(&registrations, &tally, &effects)
        for row in queue.rows(where: { $0.durability == .stored && $0.notification != nil }) {
            queue.update(row) { $0.unload() }
        }
    }

    // MARK: The end

    /// The device has acknowledged the notification at a row. It may have been replaced or dropped while it was in
    /// flight; then it is counted already.
    mutating func noteDelivered(
        _ row: QueueRow, now: Moment, _ registrations: inout DeviceRegistrations, _ tally: inout Tally,
        _ effects: inout [HomeEffect]
    ) {
        guard let pending = takeOut(row, &registrations, &tally) else { return }
        tally.delivered += 1
        tally.noteDelivery(pending.notification?.acceptedAt ?? pending.acceptedAt, now)
        effects.append(.note(.acknowledged, row))
        settleReplaced(upTo: row, in: pending.slot, &effects)
        settle(pending, &effects)
        answerAll(pending, .accepted, &effects)
    }

    /// Removes a notification that has expired.
    mutating func expire(
        _ row: QueueRow, _ registrations: inout DeviceRegistrations, _ tally: inout Tally,
        _ effects: inout [HomeEffect]
    ) {
        guard let pending = takeOut(row, &registrations, &tally) else { return }
        tally.expired += 1
        effects.append(.note(.expired, row))
        settle(pending, &effects)
        answerAll(pending, .accepted, &effects)
    }

    /// Drops a notification for a cause that neither its provider nor its device wanted.
    mutating func drop(
        _ row: QueueRow, _ cause: Tally.Drop, answering verdict: PushResult,
        _ registrations: inout DeviceRegistrations, _ tally: inout Tally, _ effects: inout [HomeEffect]
    ) {
        guard let pending = takeOut(row, &registrations, &tally) else { return }
        tally[cause] += 1
        effects.append(.note(.dropped, row, detail: Int64(cause.rawValue)))
        settle(pending, &effects)
        answerAll(pending, verdict, &effects)
    }

    /// Cancels a notification of a registration.
    ///
    /// - Returns: whether it was pending, or was kept because a newer one that has replaced it is not durable yet.
    mutating func cancel(
        _ row: QueueRow, of registration: RegistrationNumber, _ registrations: inout DeviceRegistrations,
        _ tally: inout Tally, _ effects: inout [HomeEffect]
    ) -> Bool {
        if queue[row]?.registration == registration {
            drop(row, .cancelled, answering: .accepted, &registrations, &tally, &effects)
            return true
        }
        let newer = replaced.newer(than: row, of: registration)
        if let newer { settleReplaced(by: newer, &effects) }
        return newer != nil
    }

    /// Removes a notification from the queue. The caller counts what became of it.
    mutating func takeOut(
        _ row: QueueRow, _ registrations: inout DeviceRegistrations, _ tally: inout Tally
    ) -> Pending? {
        guard let pending = queue.remove(row) else { return nil }
        tally.pending -= 1
        registrations.count(-1, pendingFor: pending.registration)
        return pending
    }

    /// Removes a notification, and the one that it replaced, from the disk if they are there or on their way.
    mutating func settle(_ pending: Pending, _ effects: inout [HomeEffect]) {
        settleReplaced(by: pending.row, &effects)
        switch pending.durability {
        case .memoryOnly, .new: break
        case .storing, .stored: effects.append(.settle(pending.row))
        }
    }

    /// Answers all providers that wait for a notification that was removed from the queue or is durable.
    mutating func answerAll(
        _ pending: Pending, _ verdict: PushResult, _ effects: inout [HomeEffect]
    ) {
        if let address = pending.address { effects.append(.answer(address, verdict)) }
        for address in addresses.remove(pending.row) { effects.append(.answer(address, verdict)) }
    }
}
