import PostriderCourier
package import PostriderNotifications

/// The steps of a push's life.
extension Device {
    /// Why a push to one of this device's registrations is refused; nil if it is not, and then it is counted.
    mutating func refusal(of notification: Notification, _ now: Moment, _ rules: DeviceRules) -> PushResult? {
        guard let place = registrations.place(of: notification.registration) else {
            return .rejected(.badDeviceToken)
        }
        let registration = registrations.values[place]
        guard registration.topic == notification.topic else { return .rejected(.deviceTokenNotForTopic) }
        if let moment = registration.unregisteredAt { return .rejected(.unregistered, since: moment) }
        if let moment = expiredAt(rules), moment <= now { return .rejected(.expiredToken, since: moment) }
        if let quotas = registration.quotas, !quotas.hasRoomForPending() {
            return .rejected(.tooManyRequests)
        }
        guard let rate = rules.pushesPerSecond else { return nil }
        let isInTime = registrations.update(at: place) { $0.allowance.take(now: now, perSecond: rate) }
        return isInTime ? nil : .rejected(.tooManyRequests)
    }

    /// When the device's tokens expire unless it returns; nil if they never do, or it is connected.
    private func expiredAt(_ rules: DeviceRules) -> Moment? {
        guard link == nil, let interval = rules.expiryMilliseconds else { return nil }
        return record.seenAt.advanced(byMilliseconds: interval)
    }

    /// Whether the holder of a slot is replaced by a newer notification. If only the latest waits, a notification that
    /// is in flight does not count as waiting.
    func isReplaceable(_ older: QueueRow, in slot: Slot) -> Bool {
        guard case .latest = slot else { return true }
        return queue[older]?.delivery == nil
    }

    /// Puts a notification at the end of the queue. One that is not to be stored is only attempted once, so its
    /// provider is answered at once.
    mutating func enqueue(
        _ notification: Notification,
        at row: QueueRow,
        in slot: Slot,
        _ address: ReplyAddress,
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
                address: expiresAt == nil ? nil : address,
                delivery: nil
            )
        )
        count(1, pendingFor: notification.registration)
        tally.pending += 1
        if expiresAt == nil { effects.append(.answer(address, .accepted)) }
    }

    /// The same push arrives again while the first is still pending: there is one notification with two reply
    /// addresses.
    mutating func merge(
        _ address: ReplyAddress, into row: QueueRow, _ tally: inout Tally, _ effects: inout [Effect]
    ) {
        tally.replaced += 1
        if let pending = queue[row], pending.address != nil {
            alsoWaiting[row, default: []].append(address)
        } else {
            effects.append(.answer(address, .accepted))
        }
    }

    /// Takes an older notification out of the slot that a newer one takes. If the older one is on the disk, its
    /// provider was told 200, so it stays on the disk until the newer one is durable. If not, it is settled at once and
    /// its provider, which still waits, gets the newer one's answer; that case is returned.
    mutating func supersede(
        _ older: QueueRow, by row: QueueRow, _ tally: inout Tally, _ effects: inout [Effect]
    ) -> Pending? {
        guard var pending = takeOut(older, &tally) else { return nil }
        tally.replaced += 1
        effects.append(.note(.replaced, older, detail: row.value))
        let addresses = (pending.address.map { [$0] } ?? []) + (alsoWaiting.removeValue(forKey: older) ?? [])
        if !addresses.isEmpty { alsoWaiting[row, default: []] += addresses }
        if pending.durability == .stored {
            pending.notification = nil
            pending.delivery = nil
            displace(pending, by: row, &effects)
            return nil
        }
        if let oldest = displaced.removeValue(forKey: older) { displace(oldest, by: row, &effects) }
        return pending
    }

    /// Leaves an older notification on the disk until the one at `row` is durable. If that has displaced one before,
    /// the newer of these two stands for both, and the other is settled.
    private mutating func displace(_ older: Pending, by row: QueueRow, _ effects: inout [Effect]) {
        guard let other = displaced.updateValue(older, forKey: row) else { return }
        if other.row > older.row { displaced[row] = other }
        effects.append(.settle(min(other.row, older.row)))
    }

    /// If only the latest of an app waits: notifications that were in flight wait again, and all but the newest are
    /// replaced.
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

    /// The newer notification is durable or settled: the older one that it replaced is removed.
    mutating func settleDisplaced(by row: QueueRow, _ effects: inout [Effect]) {
        guard !displaced.isEmpty, let older = displaced.removeValue(forKey: row) else { return }
        effects.append(.settle(older.row))
    }

    /// The same for all notifications of a slot up to `row`. If only the latest waits, those before it that are in
    /// flight were not replaced by it, and need not keep what they have replaced any longer.
    mutating func settleDisplaced(upTo row: QueueRow, in slot: Slot, _ effects: inout [Effect]) {
        guard case .latest = slot, !displaced.isEmpty else { return settleDisplaced(by: row, &effects) }
        for newer in displaced.keys.sorted() where newer <= row && displaced[newer]?.slot == slot {
            settleDisplaced(by: newer, &effects)
        }
    }

    /// A notification cannot be made durable. The older one that it replaced becomes pending again, unless a newer one
    /// has replaced both meanwhile. A notification that was not to be stored was answered when it arrived; a provider
    /// that still waits for it waits because it replaced an earlier push that is not durable, and is told to repeat
    /// that.
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

    /// Drops the oldest notifications of lowest priority while an app has as many pending as allowed.
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

    /// Sends pending notifications, in order, until the window is full or the next one has to be read from the disk.
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

    /// Whether any notification may have expired.
    package func mayHaveExpired(at now: Moment) -> Bool { queue.expiresFrom <= now }

    /// Removes a notification that has expired.
    mutating func expire(_ row: QueueRow, _ tally: inout Tally, _ effects: inout [Effect]) {
        guard let pending = takeOut(row, &tally) else { return }
        tally.expired += 1
        effects.append(.note(.expired, row))
        settle(pending, &effects)
        answerAll(pending, .accepted, &effects)
    }

    /// Drops a notification for a cause that neither its provider nor its device wanted.
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

    /// Changes the number of notifications that are pending for an app.
    mutating func count(_ change: Int, pendingFor registration: RegistrationNumber) {
        guard let place = registrations.place(of: registration) else { return }
        registrations.update(at: place) { registration in
            registration.pending += change
            registration.quotas?.add(pending: change)
        }
    }

    /// Removes a notification from the queue. The caller counts what became of it.
    mutating func takeOut(_ row: QueueRow, _ tally: inout Tally) -> Pending? {
        guard let pending = queue.remove(row) else { return nil }
        tally.pending -= 1
        count(-1, pendingFor: pending.registration)
        return pending
    }

    /// Removes a notification, and the one that it replaced, from the disk if they are there or on their way.
    mutating func settle(_ pending: Pending, _ effects: inout [Effect]) {
        settleDisplaced(by: pending.row, &effects)
        switch pending.durability {
        case .memoryOnly, .new: break
        case .storing, .stored: effects.append(.settle(pending.row))
        }
    }

    /// Answers all providers that wait for a notification that was removed from the queue.
    mutating func answerAll(_ pending: Pending, _ verdict: PushResult, _ effects: inout [Effect]) {
        if let address = pending.address { effects.append(.answer(address, verdict)) }
        guard !alsoWaiting.isEmpty, let others = alsoWaiting.removeValue(forKey: pending.row) else { return }
        for address in others { effects.append(.answer(address, verdict)) }
    }
}

extension Pending {
    /// Whether a notification has expired. One that is not to be stored has no expiration.
    func hasExpired(at now: Moment) -> Bool {
        expiresAt.map { $0 <= now } ?? false
    }
}
