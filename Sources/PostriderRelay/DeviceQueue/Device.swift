import PostriderCourier
import PostriderNotifications

/// One enrolled device as its home sees it: its registrations, what is pending for it, and what is in flight.
///
/// The pure heart of the relay. Events come in as method calls with the time, what is to be done about them
/// goes out as effects, in order; it knows no socket, no disk and no clock. Only the device's home shard
/// touches it, so "store it" and "the device just reconnected" cannot race.
struct Device {
    /// What the home has to do.
    enum Effect {
        /// Tell the provider.
        case answer(ReplyAddress, PushResult)
        /// Take on a new notification: make it durable and, if `delivery` is not nil, send it now, as the delivery of
        /// that number.
        case take(QueuedNotification, delivery: UInt64?)
        /// Send one that is durable, or need not be, as the delivery of this number.
        case send(QueuedNotification, delivery: UInt64)
        /// Remove it from the disk.
        case settle(QueueRow)
        /// Fetch these from the disk.
        case load([QueueRow])
        /// Tell the trace that it was taken on.
        case noteAccepted(QueuedNotification)
        /// Tell the trace what happened to it.
        case note(TraceEvent.Kind, QueueRow, detail: Int64 = 0)
    }

    /// One app on the device.
    struct Registration {
        let topic: Topic
        let registeredAt: Moment
        /// Since when its token is dead; nil while it is good.
        var unregisteredAt: Moment?
        /// Its pending notifications.
        var pending = 0
        /// How many more pushes it takes.
        var allowance = PushAllowance()
        /// How the device wants to be sent what is for the app.
        var filter = Filter.enabled
    }

    /// The connection that the device keeps open.
    struct Link {
        /// The only count of the deliveries under way: the session asks for it.
        var window = DeliveryWindow(size: Limits.deliveryWindow)
        /// What each delivery under way carries.
        var rows = DeliveredRows()
        /// How the device wants to be sent what waits for it.
        var reception = LinkReception()
        /// Whether what is held back goes out too, because the device is sent something else or asks for it.
        var isAwake = true
        /// When the first of the notifications that wait for their group was held back.
        var groupedSince: Moment?
        /// Whether the relay has said goodbye: nothing more is sent, and acknowledgements still count.
        var isClosing = false

        /// Whether another notification may be sent now.
        var hasRoom: Bool { !isClosing && window.hasRoom }
    }

    private(set) var record: DeviceRecord
    var registrations = SortedTable<RegistrationNumber, Registration>()
    var queue = PendingQueue()
    var link: Link?
    var isLoading = false
    /// Further receipts for one pending notification: the same push sent again before it was durable, or an
    /// older push that it replaced.
    var alsoWaiting: [QueueRow: [ReplyAddress]] = [:]
    /// By the row of the newer notification: the older one that it replaced, for which a 200 was given. It stays
    /// on the disk until the newer one is durable or delivered, and comes back when the newer one cannot be made
    /// durable: what was promised is never replaced by what was not.
    var displaced: [QueueRow: Pending] = [:]

    init(_ record: DeviceRecord) {
        self.record = record
    }

    /// Whether its connection is open.
    var isConnected: Bool { link != nil }

    /// The number of notifications that wait for it.
    var pendingCount: Int { queue.count }

    /// The number of deliveries that its present connection has not acknowledged.
    var outstandingCount: Int { link?.window.outstandingCount ?? 0 }

    // MARK: Start-up

    /// Takes on a notification that was found on the disk at start-up. What was settled in all but the last
    /// transaction is settled now: an older one in the slot of a newer, and what a dead registration left.
    mutating func restore(
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
            // Two pushes with one `apns-id`, which may be the same or not: the device tells.
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
                receipt: nil,
                delivery: nil
            )
        )
        count(1, pendingFor: entry.registration)
        tally.pending += 1
    }

    /// Takes note that the device is there. True: so long after the last time that the registry should know.
    mutating func noteSeen(now: Moment) -> Bool {
        guard record.seenAt.advanced(byMilliseconds: Limits.sightingMilliseconds) <= now else { return false }
        record.seenAt = now
        return true
    }

    // MARK: A push's life

    /// A provider's push: refused, or taken on at `row`.
    mutating func offer(
        _ notification: Notification,
        at row: QueueRow,
        for receipt: ReplyAddress,
        now: Moment,
        _ rules: DeviceRules,
        _ tally: inout Tally,
        _ effects: inout [Effect]
    ) {
        if let rejection = refusal(of: notification, now, rules) {
            effects.append(.answer(receipt, rejection))
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
            merge(receipt, into: older, &tally, &effects)
            return
        }
        if notification.expiration == .nowOrNever, !isToBeSentNow(notification) {
            // Its one attempt has failed, or would disturb the device; what waits in its slot goes on waiting.
            tally.discarded += 1
            effects.append(.note(.discarded, row))
            effects.append(.answer(receipt, .accepted))
            return
        }
        var unanswered: Pending?
        if let older, isReplaceable(older, in: slot) {
            unanswered = supersede(older, by: row, &tally, &effects)
        } else {
            makeRoom(in: notification.registration, &tally, &effects)
        }
        enqueue(notification, at: row, in: slot, receipt, &tally, &effects)
        sendNext(now, &tally, &effects)
        if queue.beginStoring(row) {
            effects.append(.take(QueuedNotification(row: row, notification: notification), delivery: nil))
        }
        // After the newer one is on its way to the disk: whatever a crash leaves, one of the two is there.
        if let unanswered { settle(unanswered, &effects) }
    }

    /// The ledger has made the notification at `row` durable, or has failed to (what its provider is told then).
    mutating func stored(
        _ row: QueueRow, failure: Rejection?, _ tally: inout Tally, _ effects: inout [Effect]
    ) {
        guard let pending = queue[row] else { return }
        if let failure {
            if pending.delivery != nil {
                // It is in the device's hands: its acknowledgement is as good as the disk.
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
            pending.receipt = nil
            if !staysInMemory { pending.unload() }
        }
        answerAll(pending, .accepted, &effects)
    }

    /// The device has acknowledged deliveries of its present connection.
    ///
    /// - Returns: the first number that is not under way (never sent, or acknowledged before), and then nothing has
    ///   changed; nil if there is none.
    mutating func acknowledged(
        _ deliveries: [UInt64], now: Moment, _ tally: inout Tally, _ effects: inout [Effect]
    ) -> UInt64? {
        if let stranger = link?.window.acknowledge(deliveries) { return stranger }
        for delivery in deliveries {
            guard let row = link?.rows.remove(delivery) else { continue }
            // One that was replaced or dropped while it was in flight is accounted for already.
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

    /// The device has a new connection, which has been welcomed. What is pending goes out, in order.
    mutating func connected(
        by reception: Reception = .usual, now: Moment, _ tally: inout Tally, _ effects: inout [Effect]
    ) {
        if link != nil { disconnected(&tally, &effects) }
        link = Link()
        setReception(reception)
        sendNext(now, &tally, &effects)
    }

    /// The relay has said goodbye on the connection: nothing more is sent there, and acknowledgements still count.
    mutating func closing() { link?.isClosing = true }

    /// The device's connection is gone. What was in flight is pending again, except now-or-never ones.
    mutating func disconnected(_ tally: inout Tally, _ effects: inout [Effect]) {
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

    /// The ledger has fetched notifications from the disk. One that was asked for and is not there any more
    /// cannot be delivered by anyone.
    mutating func loaded(
        _ asked: [QueueRow],
        _ found: [QueuedNotification],
        now: Moment,
        _ tally: inout Tally,
        _ effects: inout [Effect]
    ) {
        isLoading = false
        // A device that has left meanwhile needs none of it in memory.
        for queued in found where link != nil && queue[queued.row] != nil {
            queue.update(queued.row) { $0.notification = queued.notification }
        }
        let found = Set(found.map(\.row))
        for row in asked where !found.contains(row) && queue[row]?.notification == nil {
            drop(row, .unreadable, answering: .accepted, &tally, &effects)
        }
        sendNext(now, &tally, &effects)
    }

    /// Gives up what has passed its expiration and is not in the device's hands.
    mutating func expire(now: Moment, _ tally: inout Tally, _ effects: inout [Effect]) {
        for row in queue.findExpired(at: now) { expire(row, &tally, &effects) }
    }

    /// The device is removed: everything that is pending for it is dropped.
    mutating func removed(_ tally: inout Tally, _ effects: inout [Effect]) {
        link = nil
        for row in queue.rows(where: { _ in true }) {
            drop(row, .removed, answering: .rejected(.badDeviceToken), &tally, &effects)
        }
    }
}
