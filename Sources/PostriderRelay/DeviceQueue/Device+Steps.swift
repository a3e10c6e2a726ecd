import PostriderCourier
import PostriderNotifications

/// The steps of which a push's life is made.
extension Device {
    /// Why a push to one of this device's registrations is refused, or nil; then it is counted.
    mutating func refusal(of notification: Notification, _ now: Moment, _ rules: DeviceRules) -> PushResult? {
        guard let place = registrations.place(of: notification.registration) else {
            return .rejected(.badDeviceToken)
        }
        let registration = registrations.values[place]
        guard registration.topic == notification.topic else { return .rejected(.deviceTokenNotForTopic) }
        if let moment = registration.unregisteredAt { return .rejected(.unregistered, since: moment) }
        if let moment = expiredAt(rules), moment <= now { return .rejected(.expiredToken, since: moment) }
        guard let rate = rules.pushesPerSecond else { return nil }
        let isInTime = registrations.update(at: place) { $0.allowance.take(now: now, perSecond: rate) }
        return isInTime ? nil : .rejected(.tooManyRequests)
    }

    /// When the device's tokens expire if it does not come back; nil: never, or it is there.
    private func expiredAt(_ rules: DeviceRules) -> Moment? {
        guard link == nil, let interval = rules.expiryMilliseconds else { return nil }
        return record.seenAt.advanced(byMilliseconds: interval)
    }

    /// Whether what holds a slot makes way for a newer one. Where only the latest waits, what is in the device's hands
    /// does not wait.
    func isReplaceable(_ older: QueueRow, in slot: Slot) -> Bool {
        guard case .latest = slot else { return true }
        return queue[older]?.delivery == nil
    }

    /// Puts a notification at the end of the queue. A now-or-never one is never stored: the attempt to send it is all
    /// that is promised, and its provider is answered at once.
    mutating func enqueue(
        _ notification: Notification,
        at row: QueueRow,
        in slot: Slot,
        _ receipt: ReplyAddress,
        _ tally: inout Tally,
        _ effects: inout [Effect]
    ) {
        let expiresAt: Moment? =
            switch notification.expiration {
            case .nowOrNever: nil
            case .at(let moment): moment
            }
        queue.append(
            Pending(
                row: row,
                slot: slot,
                registration: notification.registration,
                priority: notification.priority,
                expiresAt: expiresAt,
                notification: notification,
                durability: expiresAt == nil ? .memoryOnly : .new,
                acceptedSecond: notification.acceptedAt.wholeSeconds,
                receipt: expiresAt == nil ? nil : receipt,
                delivery: nil
            )
        )
        count(1, pendingFor: notification.registration)
        tally.pending += 1
        if expiresAt == nil { effects.append(.answer(receipt, .accepted)) }
    }

    /// The same push again while the first is still pending: one notification, two receipts.
    mutating func merge(
        _ receipt: ReplyAddress, into row: QueueRow, _ tally: inout Tally, _ effects: inout [Effect]
    ) {
        tally.replaced += 1
        if let pending = queue[row], pending.receipt != nil {
            alsoWaiting[row, default: []].append(receipt)
        } else {
            effects.append(.answer(receipt, .accepted))
        }
    }

    /// Takes an older notification out of the slot that a newer one claims. One that is on the disk, and so was
    /// promised, stays there until the newer one is safe. One that is not (the answer) is settled at once: its
    /// provider still waits, and is answered with the newer one's.
    mutating func supersede(
        _ older: QueueRow, by row: QueueRow, _ tally: inout Tally, _ effects: inout [Effect]
    ) -> Pending? {
        guard var pending = takeOut(older, &tally) else { return nil }
        tally.replaced += 1
        effects.append(.note(.replaced, older, detail: row.value))
        let receipts = (pending.receipt.map { [$0] } ?? []) + (alsoWaiting.removeValue(forKey: older) ?? [])
        if !receipts.isEmpty { alsoWaiting[row, default: []] += receipts }
        if pending.durability == .stored {
            pending.notification = nil
            pending.delivery = nil
            displace(pending, by: row, &effects)
            return nil
        }
        if let oldest = displaced.removeValue(forKey: older) { displace(oldest, by: row, &effects) }
        return pending
    }

    /// Leaves an older notification on the disk until the one at `row` is safe. Of two the newer stands for both.
    private mutating func displace(_ older: Pending, by row: QueueRow, _ effects: inout [Effect]) {
        guard let other = displaced.updateValue(older, forKey: row) else { return }
        if other.row > older.row { displaced[row] = other }
        effects.append(.settle(min(other.row, older.row)))
    }

    /// Where only the latest of an app waits: what was in flight waits again, and all but the newest is replaced.
    mutating func keepLatest(_ tally: inout Tally, _ effects: inout [Effect]) {
        var latest: [RegistrationNumber: QueueRow] = [:]
        for row in queue.rows(where: { $0.slot == .latest($0.registration) }) {
            guard let pending = queue[row] else { continue }
            if let older = latest.updateValue(row, forKey: pending.registration) {
                if let unanswered = supersede(older, by: row, &tally, &effects) {
                    settle(unanswered, &effects)
                }
                if pending.durability == .stored {
                    settleDisplaced(by: row, &effects)
                    answerAll(pending, .accepted, &effects)
                }
            }
            queue.claimSlot(for: row)
        }
    }

    /// The newer notification is safe, or done with: the older one that it replaced may be forgotten.
    mutating func settleDisplaced(by row: QueueRow, _ effects: inout [Effect]) {
        guard !displaced.isEmpty, let older = displaced.removeValue(forKey: row) else { return }
        effects.append(.settle(older.row))
    }

    /// The same where it is safe, or the device has it. Where only the latest waits, what came before it and is in the
    /// device's hands makes no way for it, and need not hold on to what it replaced any more.
    mutating func settleDisplaced(upTo row: QueueRow, in slot: Slot, _ effects: inout [Effect]) {
        guard case .latest = slot, !displaced.isEmpty else { return settleDisplaced(by: row, &effects) }
        for newer in displaced.keys.sorted() where newer <= row && displaced[newer]?.slot == slot {
            settleDisplaced(by: newer, &effects)
        }
    }

    /// A notification that is in memory only cannot be made safe. The older one that it replaced, if any, is
    /// pending again, unless a newer one has come meanwhile and replaces both. A now-or-never one was answered
    /// when it came: whoever still waits for it was replaced by it before the disk had it, and is told to come again.
    mutating func giveUp(
        _ row: QueueRow, answering rejection: Rejection, _ tally: inout Tally, _ effects: inout [Effect]
    ) {
        let older = displaced.removeValue(forKey: row)
        if queue[row]?.expiresAt == nil, let pending = takeOut(row, &tally) {
            tally.discarded += 1
            effects.append(.note(.discarded, row))
            answerAll(pending, .rejected(rejection), &effects)
        } else {
            drop(row, .unstorable, answering: .rejected(rejection), &tally, &effects)
        }
        guard let older else { return }
        if let newest = queue.row(in: older.slot) {
            displace(older, by: newest, &effects)
            if queue[newest]?.durability == .stored { settleDisplaced(by: newest, &effects) }
            return
        }
        queue.putBack(older)
        effects.append(.note(.recalled, older.row))
        count(1, pendingFor: older.registration)
        tally.pending += 1
        tally.replaced -= 1
        tally.recalled += 1
    }

    /// Drops the oldest of lowest priority while an app has its full number pending.
    mutating func makeRoom(
        in registration: RegistrationNumber,
        _ tally: inout Tally,
        _ effects: inout [Effect]
    ) {
        guard let place = registrations.place(of: registration) else { return }
        while registrations.values[place].pending >= Limits.pendingPerRegistration {
            guard let row = queue.leastImportant(of: registration) else { return }
            drop(row, .overflow, answering: .rejected(.tooManyRequests), &tally, &effects)
        }
    }

    /// Sends what is pending, in order, until the window is full or what comes next has to be fetched from
    /// the disk.
    mutating func sendNext(_ now: Moment, _ tally: inout Tally, _ effects: inout [Effect]) {
        while link?.hasRoom == true {
            guard let pending = queue.next() ?? (link?.isAwake == true ? queue.nextHeld() : nil) else {
                return rest()
            }
            if pending.hasExpired(at: now) {
                expire(pending.row, &tally, &effects)
                continue
            }
            if !pending.isHeld, let hold = hold(on: pending) {
                holdNext(hold, pending, now)
                continue
            }
            guard let notification = pending.notification else {
                if !isLoading {
                    isLoading = true
                    effects.append(.load(queue.unloaded(limit: Limits.deliveryWindow, held: pending.isHeld)))
                }
                return
            }
            guard let delivery = self.link?.window.advance() else { return }
            self.link?.rows.append(delivery, pending.row)
            self.link?.isAwake = true
            if pending.isHeld {
                queue.advance(held: pending.row, delivery: delivery)
            } else {
                queue.advance(delivery: delivery)
            }
            let queued = QueuedNotification(row: pending.row, notification: notification)
            effects.append(
                pending.durability == .new
                    ? .take(queued, delivery: delivery) : .send(queued, delivery: delivery))
        }
    }

    /// Whether anything may have passed its expiration.
    func mayHaveExpired(at now: Moment) -> Bool { queue.expiresFrom <= now }

    /// Gives a notification up because its time is over.
    mutating func expire(_ row: QueueRow, _ tally: inout Tally, _ effects: inout [Effect]) {
        guard let pending = takeOut(row, &tally) else { return }
        tally.expired += 1
        effects.append(.note(.expired, row))
        settle(pending, &effects)
        answerAll(pending, .accepted, &effects)
    }

    /// Gives a notification up for a cause that is nobody's wish.
    mutating func drop(
        _ row: QueueRow,
        _ cause: Tally.Drop,
        answering verdict: PushResult,
        _ tally: inout Tally,
        _ effects: inout [Effect]
    ) {
        guard let pending = takeOut(row, &tally) else { return }
        tally[cause] += 1
        effects.append(.note(.dropped, row, detail: Int64(cause.rawValue)))
        settle(pending, &effects)
        answerAll(pending, verdict, &effects)
    }

    /// One more, or one less, is pending for an app.
    mutating func count(_ change: Int, pendingFor registration: RegistrationNumber) {
        guard let place = registrations.place(of: registration) else { return }
        registrations.update(at: place) { $0.pending += change }
    }

    /// Takes a notification out of the queue. What becomes of it is the caller's to count.
    mutating func takeOut(_ row: QueueRow, _ tally: inout Tally) -> Pending? {
        guard let pending = queue.remove(row) else { return nil }
        tally.pending -= 1
        count(-1, pendingFor: pending.registration)
        return pending
    }

    /// Removes it from the disk, if it is there or on its way, and with it what it replaced.
    mutating func settle(_ pending: Pending, _ effects: inout [Effect]) {
        settleDisplaced(by: pending.row, &effects)
        switch pending.durability {
        case .memoryOnly, .new: break
        case .storing, .stored: effects.append(.settle(pending.row))
        }
    }

    /// Answers everyone who waits for a notification that has been taken out.
    mutating func answerAll(_ pending: Pending, _ verdict: PushResult, _ effects: inout [Effect]) {
        if let receipt = pending.receipt { effects.append(.answer(receipt, verdict)) }
        guard !alsoWaiting.isEmpty, let others = alsoWaiting.removeValue(forKey: pending.row) else { return }
        for receipt in others { effects.append(.answer(receipt, verdict)) }
    }
}

extension Pending {
    /// Whether its time is over; a now-or-never one has its one attempt.
    func hasExpired(at now: Moment) -> Bool {
        expiresAt.map { $0 <= now } ?? false
    }
}
