package import PostriderCourier
package import PostriderNotifications

/// One enrolled device, as its home keeps it: its registrations, its pending notifications, and those in flight.
///
/// Pure: events come in as method calls with the time, and what is to be done goes out as effects, in order; it knows
/// no socket, no disk and no clock. Only the device's home shard touches it, so storing a notification cannot race with
/// the device's reconnecting.
package struct Device {
    /// What the home has to do for the device.
    package enum Effect {
        /// Answer the provider.
        case answer(ReplyAddress, PushResult)
        /// Have a new notification made durable and, with a `delivery`, send it now as the delivery of that number.
        case take(QueuedNotification, delivery: UInt64?)
        /// Send a notification that is durable, or need not be, as the delivery of this number.
        case send(QueuedNotification, delivery: UInt64)
        /// Remove the notification from the disk.
        case settle(QueueRow)
        /// Read these notifications from the disk.
        case load([QueueRow])
        /// Record the acceptance in the trace.
        case noteAccepted(QueuedNotification)
        /// Record an event in the trace.
        case note(TraceEvent.Kind, QueueRow, detail: Int64 = 0)
    }

    /// One app on the device.
    package struct Registration {
        package let topic: Topic
        package let registeredAt: Moment
        /// When its token became invalid; nil while it is valid.
        package internal(set) var unregisteredAt: Moment?
        /// How many notifications are pending for it.
        var pending = 0
        /// How many more pushes it may get now.
        var allowance = PushAllowance()
        /// The device's preference for the app.
        var filter = Filter.enabled
        /// The quotas that it counts for; nil for none.
        package internal(set) var quotas: TopicQuotas?
    }

    /// The connection that the device keeps open.
    package struct Link {
        /// The only count of deliveries under way; the session asks here.
        var window = DeliveryWindow(size: Limits.deliveryWindow)
        /// The row of each delivery under way.
        var rows = DeliveredRows()
        /// The device's preferences.
        package internal(set) var reception = LinkReception()
        /// Whether held-back notifications are sent too, because the device is sent another one or asked for them.
        var isAwake = true
        /// When the first of the grouped notifications was held back.
        var groupedSince: Moment?
        /// Whether the relay has said goodbye: nothing more is sent, but acknowledgements still count.
        var isClosing = false

        /// Whether another notification may be sent now.
        var hasRoom: Bool { !isClosing && window.hasRoom }
    }

    package private(set) var record: DeviceRecord
    package internal(set) var registrations = SortedTable<RegistrationNumber, Registration>()
    package internal(set) var queue = PendingQueue()
    package internal(set) var link: Link?
    var isLoading = false
    /// Further reply addresses of a pending notification: of the same push, sent again before it was durable, or of an
    /// older push that it replaced.
    var alsoWaiting: [QueueRow: [ReplyAddress]] = [:]
    /// By the row of a newer notification: the older one that it replaced and that a 200 was given for. The older one
    /// stays on the disk until the newer one is durable or delivered. If the newer one cannot be made durable, the
    /// older one becomes pending again, because its provider was promised that it is kept.
    var displaced: [QueueRow: Pending] = [:]

    package init(_ record: DeviceRecord) {
        self.record = record
    }

    /// The number of notifications that wait for it.
    package var pendingCount: Int { queue.count }

    /// How many deliveries of the current connection are not acknowledged.
    package var outstandingCount: Int { link?.window.outstandingCount ?? 0 }

    // MARK: Start-up

    /// Adds a notification that was read from the disk at start-up. It completes what the last transaction left
    /// unfinished: an older notification in the slot of a newer one is settled, and so is one of an ended registration.
    package mutating func restore(
        _ entry: QueueEntry, _ rules: DeviceRules, _ tally: inout Tally, _ effects: inout [Effect]
    ) {
        tally.accepted += 1
        guard let registration = registrations[entry.registration], registration.unregisteredAt == nil else {
            tally[.unregistered] += 1
            effects.append(.note(.dropped, entry.row, detail: Int64(Tally.Drop.unregistered.rawValue)))
            effects.append(.settle(entry.row))
            return
        }
        var slot = rules.storage == .latest ? .latest(entry.registration) : entry.slot
        if case .identity(let registration, let identity) = slot, queue.row(in: slot) != nil {
            // These are two pushes with one `apns-id`. Nobody knows whether they are the same: the device finds out.
            slot = .namesake(registration, identity, Int(truncatingIfNeeded: entry.row.value))
        }
        if let older = queue.row(in: slot), let pending = takeOut(older, &tally) {
            tally.replaced += 1
            effects.append(.note(.replaced, older, detail: entry.row.value))
            settle(pending, &effects)
        }
        queue.append(
            Pending(
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
        )
        count(1, pendingFor: entry.registration)
        tally.pending += 1
    }

    /// Notes that the device is connected. Returns true if the registry has to store that, once a day.
    package mutating func noteSeen(now: Moment) -> Bool {
        guard record.seenAt.advanced(byMilliseconds: Limits.sightingMilliseconds) <= now else { return false }
        record.seenAt = now
        return true
    }

    // MARK: A push's life

    /// A provider's push: refuses it, or accepts it at `row`.
    package mutating func offer(
        _ notification: Notification,
        at row: QueueRow,
        for address: ReplyAddress,
        now: Moment,
        _ rules: DeviceRules,
        _ tally: inout Tally,
        _ effects: inout [Effect]
    ) {
        if let rejection = refusal(of: notification, now, rules) {
            effects.append(.answer(address, rejection))
            return
        }
        tally.accepted += 1
        effects.append(.noteAccepted(QueuedNotification(row: row, notification: notification)))
        var slot = notification.slot(rules.storage)
        var older = holder(of: slot, now, &tally, &effects)
        if slot.isOfOnePush, older != nil || queue.namesakes > 0 {
            slot = self.slot(of: notification, in: slot, now)
            older = holder(of: slot, now, &tally, &effects)
        }
        if let older, slot.isOfOnePush {
            effects.append(.note(.merged, row, detail: older.value))
            merge(address, into: older, &tally, &effects)
            return
        }
        if notification.expiration == .nowOrNever, !isToBeSentNow(notification) {
            // Its one attempt has failed, or would disturb the device. The holder of its slot goes on waiting.
            tally.discarded += 1
            effects.append(.note(.discarded, row))
            effects.append(.answer(address, .accepted))
            return
        }
        var unanswered: Pending?
        if let older, isReplaceable(older, in: slot) {
            unanswered = supersede(older, by: row, &tally, &effects)
        } else {
            makeRoom(in: notification.registration, &tally, &effects)
        }
        enqueue(notification, at: row, in: slot, address, &tally, &effects)
        sendNext(now, &tally, &effects)
        if queue.beginStoring(row) {
            effects.append(.take(QueuedNotification(row: row, notification: notification), delivery: nil))
        }
        // The newer one is sent to the disk first, so that one of the two is there even after a crash.
        if let unanswered { settle(unanswered, &effects) }
    }

    /// The ledger has made the notification at `row` durable; or it has failed, and `failure` is the answer to its
    /// provider.
    package mutating func stored(
        _ row: QueueRow, failure: Rejection?, _ tally: inout Tally, _ effects: inout [Effect]
    ) {
        guard let pending = queue[row] else { return }
        if let failure {
            if pending.delivery != nil {
                // The device has the notification: its acknowledgement makes it as safe as the disk would.
                queue.update(row) { $0.durability = .memoryOnly }
            } else {
                giveUp(row, answering: failure, &tally, &effects)
            }
            return
        }
        effects.append(.note(.stored, row))
        settleDisplaced(upTo: row, in: pending.slot, &effects)
        let staysInMemory = pending.delivery != nil || link != nil && queue.count <= Limits.deliveryWindow * 4
        queue.update(row) { pending in
            pending.durability = .stored
            pending.address = nil
            if !staysInMemory { pending.unload() }
        }
        answerAll(pending, .accepted, &effects)
    }

    /// The device has acknowledged deliveries of its current connection.
    ///
    /// - Returns: nil, or the first number that is not under way (never sent, or acknowledged before). Then nothing has
    ///   changed.
    package mutating func acknowledged(
        _ deliveries: [UInt64], now: Moment, _ tally: inout Tally, _ effects: inout [Effect]
    ) -> UInt64? {
        if let stranger = link?.window.acknowledge(deliveries) { return stranger }
        for delivery in deliveries {
            guard let row = link?.rows.remove(delivery) else { continue }
            // A notification that was replaced or dropped while it was in flight is counted already.
            guard let pending = takeOut(row, &tally) else { continue }
            tally.delivered += 1
            tally.noteDelivery(pending.notification?.acceptedAt ?? pending.acceptedAt, now)
            effects.append(.note(.acknowledged, row))
            settleDisplaced(upTo: row, in: pending.slot, &effects)
            settle(pending, &effects)
            answerAll(pending, .accepted, &effects)
        }
        sendNext(now, &tally, &effects)
        return nil
    }

    /// The device has a new connection, which has been welcomed. Pending notifications are sent, in order.
    package mutating func connected(
        by reception: Reception = .usual, now: Moment, _ tally: inout Tally, _ effects: inout [Effect]
    ) {
        if link != nil { disconnected(&tally, &effects) }
        link = Link()
        setReception(reception)
        sendNext(now, &tally, &effects)
    }

    /// The relay has said goodbye on the connection: nothing more is sent on it, but acknowledgements still count.
    package mutating func closing() { link?.isClosing = true }

    /// The device's connection is gone. Notifications in flight are pending again, except those that are not to be
    /// stored.
    package mutating func disconnected(_ tally: inout Tally, _ effects: inout [Effect]) {
        guard link != nil else { return }
        link = nil
        isLoading = false
        for row in queue.rows(where: { $0.durability == .memoryOnly }) {
            giveUp(row, answering: .serviceUnavailable, &tally, &effects)
        }
        for row in queue.rows(where: { $0.delivery != nil }) { effects.append(.note(.returned, row)) }
        queue.rewind()
        keepLatest(&tally, &effects)
        for row in queue.rows(where: { $0.durability == .stored && $0.notification != nil }) {
            queue.update(row) { $0.unload() }
        }
    }

    /// The ledger has read notifications from the disk. One that was asked for and is no longer there is lost.
    package mutating func loaded(
        _ asked: [QueueRow],
        _ found: [QueuedNotification],
        now: Moment,
        _ tally: inout Tally,
        _ effects: inout [Effect]
    ) {
        isLoading = false
        // If the device has disconnected meanwhile, none of them is needed in memory.
        for queued in found where link != nil && queue[queued.row] != nil {
            queue.update(queued.row) { $0.notification = queued.notification }
        }
        let found = Set(found.map(\.row))
        for row in asked where !found.contains(row) && queue[row]?.notification == nil {
            drop(row, .unreadable, answering: .accepted, &tally, &effects)
        }
        sendNext(now, &tally, &effects)
    }

    /// Removes notifications that have expired and are not in flight.
    package mutating func expire(now: Moment, _ tally: inout Tally, _ effects: inout [Effect]) {
        for row in queue.findExpired(at: now) { expire(row, &tally, &effects) }
    }

    /// The device is removed: all of its pending notifications are dropped.
    package mutating func removed(_ tally: inout Tally, _ effects: inout [Effect]) {
        link = nil
        for row in queue.rows(where: { _ in true }) {
            drop(row, .removed, answering: .rejected(.badDeviceToken), &tally, &effects)
        }
        for number in registrations.keys { charge(number, to: nil, besides: 0) }
    }
}
