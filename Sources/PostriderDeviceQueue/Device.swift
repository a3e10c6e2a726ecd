package import PostriderCourier
package import PostriderNotifications

/// One enrolled device, as its home keeps it: its registrations, its pending notifications, and its connection.
///
/// It decides what each event means for these three, which know nothing of each other's rules.
///
/// Pure: events come in as method calls with the time, and what is to be done goes out as effects, in order; it knows
/// no socket, no disk and no clock. Only the device's home shard touches it, so storing a notification cannot race with
/// the device's reconnecting.
package struct Device {
    package private(set) var record: DeviceRecord
    package internal(set) var registrations = DeviceRegistrations()
    package internal(set) var backlog = Backlog()
    /// The connection; nil while the device is away.
    package internal(set) var link: HomeLink?

    package init(_ record: DeviceRecord) {
        self.record = record
    }

    /// The number of notifications that wait for it.
    package var pendingCount: Int { backlog.queue.count }

    /// How many deliveries of the current connection are not acknowledged.
    package var outstandingCount: Int { link?.window.outstandingCount ?? 0 }

    // MARK: Registrations

    /// Applies a registration, or the end of one, after the ledger has made it durable, or when it is read at start-up.
    /// Notifications of a registration that ended are dropped.
    package mutating func apply(
        _ record: RegistrationRecord, _ tally: inout Tally, _ effects: inout [HomeEffect]
    ) {
        precondition(record.device == self.record.identity, "a registration belongs to its device")
        registrations.apply(record, link?.reception.filter(of: record.topic) ?? .enabled)
        guard let moment = record.unregisteredAt else { return }
        let verdict = PushResult.rejected(.unregistered, since: moment)
        for row in backlog.queue.rows(where: { $0.registration == record.number }) {
            backlog.drop(row, .unregistered, answering: verdict, &registrations, &tally, &effects)
        }
    }

    /// Counts a registration for these quotas from now on, and no longer for those before.
    ///
    /// - Parameter found: notifications of it that were on the disk at start-up and are not in the queue yet.
    package mutating func charge(_ number: RegistrationNumber, to quotas: TopicQuotas?, besides found: Int) {
        registrations.charge(number, to: quotas, besides: found)
    }

    // MARK: Start-up

    /// Adds a notification that was read from the disk at start-up. It completes what the last transaction left
    /// unfinished: an older notification in the slot of a newer one is settled, and so is one of an ended registration.
    package mutating func restore(
        _ entry: QueueEntry, _ rules: DeviceRules, _ tally: inout Tally, _ effects: inout [HomeEffect]
    ) {
        tally.accepted += 1
        guard let registration = registrations[entry.registration], registration.unregisteredAt == nil else {
            tally[.unregistered] += 1
            effects.append(.note(.dropped, entry.row, detail: Int64(Tally.Drop.unregistered.rawValue)))
            effects.append(.settle(entry.row))
            return
        }
        let slot = backlog.slot(ofRestored: entry, rules)
        backlog.settleHolder(of: slot, by: entry.row, &registrations, &tally, &effects)
        backlog.restore(entry, in: slot, &registrations, &tally)
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
        _ notification: Notification, at row: QueueRow, for address: ReplyAddress, now: Moment,
        _ rules: DeviceRules, _ tally: inout Tally, _ effects: inout [HomeEffect]
    ) {
        if let rejection = refusal(of: notification, now, rules) {
            effects.append(.answer(address, rejection))
            return
        }
        tally.accepted += 1
        effects.append(.noteAccepted(QueuedNotification(row: row, notification: notification)))
        var slot = notification.slot(rules.storage)
        var older = backlog.holder(of: slot, now, &registrations, &tally, &effects)
        if slot.isOfOnePush, older != nil || backlog.queue.namesakes > 0 {
            slot = backlog.slot(of: notification, in: slot, now)
            older = backlog.holder(of: slot, now, &registrations, &tally, &effects)
        }
        if let older, slot.isOfOnePush {
            effects.append(.note(.merged, row, detail: older.value))
            backlog.merge(address, into: older, &tally, &effects)
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
        if let older, backlog.isReplaceable(older, in: slot) {
            unanswered = backlog.supersede(older, by: row, &registrations, &tally, &effects)
        } else {
            backlog.makeRoom(in: notification.registration, &registrations, &tally, &effects)
        }
        backlog.accept(notification, at: row, in: slot, address, &registrations, &tally, &effects)
        sendNext(now, &tally, &effects)
        if backlog.queue.beginStoring(row) {
            effects.append(.take(QueuedNotification(row: row, notification: notification), delivery: nil))
        }
        // The newer one is sent to the disk first, so that one of the two is there even after a crash.
        if let unanswered { backlog.settle(unanswered, &effects) }
    }

    /// Why a push is refused; nil if it is not, and then it is counted. The tokens of an absent device may expire.
    mutating func refusal(of notification: Notification, _ now: Moment, _ rules: DeviceRules) -> PushResult? {
        let interval = link == nil ? rules.expiryMilliseconds : nil
        return registrations.refusal(
            of: notification, now: now,
            expiresAt: interval.map { record.seenAt.advanced(byMilliseconds: $0) },
            pushesPerSecond: rules.pushesPerSecond)
    }

    /// Whether a notification that is not to be stored may be sent now.
    private func isToBeSentNow(_ notification: Notification) -> Bool {
        link?.isToBeSentNow(notification.priority, registrations[notification.registration]?.filter) ?? false
    }

    /// The ledger has made the notification at `row` durable; or it has failed, and `failure` is the answer to its
    /// provider.
    package mutating func stored(
        _ row: QueueRow, failure: Rejection?, _ tally: inout Tally, _ effects: inout [HomeEffect]
    ) {
        if let failure {
            backlog.noteUnstorable(row, answering: failure, &registrations, &tally, &effects)
        } else {
            let staysInMemory = link != nil && backlog.queue.count <= Limits.deliveryWindow * 4
            backlog.noteStored(row, staysInMemory: staysInMemory, &effects)
        }
    }

    /// The device has acknowledged deliveries of its current connection.
    ///
    /// - Returns: nil, or the first number that is not under way (never sent, or acknowledged before). Then nothing has
    ///   changed.
    package mutating func acknowledged(
        _ deliveries: [UInt64], now: Moment, _ tally: inout Tally, _ effects: inout [HomeEffect]
    ) -> UInt64? {
        if let stranger = link?.acknowledge(deliveries) { return stranger }
        for delivery in deliveries {
            guard let row = link?.remove(delivery) else { continue }
            backlog.noteDelivered(row, now: now, &registrations, &tally, &effects)
        }
        sendNext(now, &tally, &effects)
        return nil
    }

    /// The ledger has read notifications from the disk. One that was asked for and is no longer there is lost.
    package mutating func loaded(
        _ asked: [QueueRow], _ found: [QueuedNotification], now: Moment, _ tally: inout Tally,
        _ effects: inout [HomeEffect]
    ) {
        link?.isLoading = false
        // If the device has disconnected meanwhile, none of them is needed in memory.
        for queued in found where link != nil && backlog.isPending(queued.row) {
            backlog.queue.update(queued.row) { $0.notification = queued.notification }
        }
        let found = Set(found.map(\.row))
        for row in asked where !found.contains(row) && backlog.queue[row]?.notification == nil {
            backlog.drop(row, .unreadable, answering: .accepted, &registrations, &tally, &effects)
        }
        sendNext(now, &tally, &effects)
    }

    /// The sender of a notification cancels it. It is not delivered any more, unless it is in flight already.
    ///
    /// - Returns: whether it was pending for this registration, or was kept because a newer one that has replaced it
    ///   is not durable yet.
    package mutating func cancel(
        _ row: QueueRow, of registration: RegistrationNumber, _ tally: inout Tally,
        _ effects: inout [HomeEffect]
    ) -> Bool {
        backlog.cancel(row, of: registration, &registrations, &tally, &effects)
    }

    /// Whether any notification may have expired.
    package func mayHaveExpired(at now: Moment) -> Bool { backlog.queue.expiresFrom <= now }

    /// Removes notifications that have expired and are not in flight.
    package mutating func expire(now: Moment, _ tally: inout Tally, _ effects: inout [HomeEffect]) {
        for row in backlog.queue.findExpired(at: now) {
            backlog.expire(row, &registrations, &tally, &effects)
        }
    }

    // MARK: The link

    /// The device has a new connection, which has been welcomed. Pending notifications are sent, in order.
    package mutating func connected(
        by reception: Reception = .usual, now: Moment, _ tally: inout Tally, _ effects: inout [HomeEffect]
    ) {
        if link != nil { disconnected(&tally, &effects) }
        link = HomeLink()
        setReception(reception)
        sendNext(now, &tally, &effects)
    }

    /// The relay has said goodbye on the connection: nothing more is sent on it, but acknowledgements still count.
    package mutating func closing() { link?.isClosing = true }

    /// The device's connection is gone. Notifications in flight are pending again, except those that are not to be
    /// stored.
    package mutating func disconnected(_ tally: inout Tally, _ effects: inout [HomeEffect]) {
        guard link != nil else { return }
        link = nil
        backlog.rewind(&registrations, &tally, &effects)
    }

    /// Sends what is held back, because the device asks for it or its group is due.
    package mutating func fetch(now: Moment, _ tally: inout Tally, _ effects: inout [HomeEffect]) {
        link?.isAwake = true
        sendNext(now, &tally, &effects)
    }

    /// Whether a group has waited for long enough, or the clock was put back.
    package func isGroupDue(at now: Moment) -> Bool { link?.isGroupDue(at: now) ?? false }

    /// The device has sent new preferences. It is awake at this moment.
    package mutating func receive(
        by reception: Reception, now: Moment, _ tally: inout Tally, _ effects: inout [HomeEffect]
    ) {
        setReception(reception)
        backlog.queue.release()
        fetch(now: now, &tally, &effects)
    }

    /// Stores the device's preferences.
    private mutating func setReception(_ reception: Reception) {
        let wishes = LinkReception(reception)
        link?.reception = wishes
        registrations.setFilters(by: wishes)
    }

    /// Sends pending notifications, in order, until the window is full or the next one has to be read from the disk.
    mutating func sendNext(_ now: Moment, _ tally: inout Tally, _ effects: inout [HomeEffect]) {
        while link?.hasRoom == true {
            guard
                let pending = backlog.queue.next() ?? (link?.isAwake == true ? backlog.queue.nextHeld() : nil)
            else {
                link?.rest()
                return
            }
            if pending.hasExpired(at: now) {
                backlog.expire(pending.row, &registrations, &tally, &effects)
                continue
            }
            if !pending.isHeld, let hold = link?.hold(on: pending, registrations) {
                backlog.queue.hold(ignored: hold == .ignored)
                link?.noteHeld(hold, at: now)
                continue
            }
            guard let notification = pending.notification else {
                if link?.isLoading == false {
                    link?.isLoading = true
                    effects.append(
                        .load(backlog.queue.unloaded(limit: Limits.deliveryWindow, held: pending.isHeld)))
                }
                return
            }
            guard let delivery = link?.deliver(pending.row) else { return }
            if pending.isHeld {
                backlog.queue.advance(held: pending.row, delivery: delivery)
            } else {
                backlog.queue.advance(delivery: delivery)
            }
            let queued = QueuedNotification(row: pending.row, notification: notification)
            effects.append(
                pending.durability == .new
                    ? .take(queued, delivery: delivery) : .send(queued, delivery: delivery))
        }
    }
}
