import Courier
import Notifications

/// The steps of which a push's life is made.
extension Device {
    /// Why a push to one of this device's registrations is refused, or nil.
    func refusal(of notification: Notification) -> Verdict? {
        guard let registration = registrations[notification.registration] else {
            return .rejected(.badDeviceToken)
        }
        guard registration.topic == notification.topic else { return .rejected(.deviceTokenNotForTopic) }
        if let moment = registration.unregisteredAt { return .rejected(.unregistered, since: moment) }
        return nil
    }

    /// The same push again while the first is still pending: one notification, two receipts.
    mutating func merge(
        _ receipt: Receipt, into row: QueueRow, _ tally: inout Tally, _ effects: inout [Effect]
    ) {
        tally.replaced += 1
        if let pending = queue[row], pending.receipt != nil {
            alsoWaiting[row, default: []].append(receipt)
        } else {
            effects.append(.answer(receipt, .accepted))
        }
    }

    /// Takes an older notification out of the slot that a newer one claims. Its provider, if it still waits,
    /// is answered with the newer one's: until that is durable, the older is what the disk has to show.
    mutating func supersede(_ older: QueueRow, by row: QueueRow, _ tally: inout Tally) -> Pending? {
        guard let pending = takeOut(older, &tally) else { return nil }
        tally.replaced += 1
        let receipts = (pending.receipt.map { [$0] } ?? []) + (alsoWaiting.removeValue(forKey: older) ?? [])
        if !receipts.isEmpty { alsoWaiting[row] = receipts }
        return pending
    }

    /// Drops the oldest of lowest priority while an app has its full number pending.
    mutating func makeRoom(
        in registration: RegistrationNumber,
        _ tally: inout Tally,
        _ effects: inout [Effect]
    ) {
        while registrations[registration].map({ $0.pending >= Limits.pendingPerRegistration }) ?? false {
            let rows = queue.rows { $0.registration == registration && $0.delivery == nil }
            let lowest = rows.compactMap { queue[$0]?.priority }.min()
            guard let row = rows.first(where: { queue[$0]?.priority == lowest }) else { return }
            drop(row, .overflow, answering: .rejected(.tooManyRequests), &tally, &effects)
        }
    }

    /// Sends what is pending, in order, until the window is full or what comes next has to be fetched from
    /// the disk.
    mutating func sendNext(_ now: Moment, _ tally: inout Tally, _ effects: inout [Effect]) {
        while let link, link.window.hasRoom, let pending = queue.next() {
            if pending.hasExpired(at: now) {
                expire(pending.row, &tally, &effects)
                continue
            }
            guard let notification = pending.notification else {
                if !isLoading {
                    isLoading = true
                    effects.append(.load(queue.unloaded(limit: Limits.deliveryWindow)))
                }
                return
            }
            guard let delivery = self.link?.window.advance() else { return }
            self.link?.rows[delivery] = pending.row
            queue.advance(delivery: delivery)
            effects.append(.send(delivery: delivery, notification))
        }
    }

    /// Gives a notification up because its time is over.
    mutating func expire(_ row: QueueRow, _ tally: inout Tally, _ effects: inout [Effect]) {
        guard let pending = takeOut(row, &tally) else { return }
        tally.expired += 1
        settle(pending, &effects)
        answerAll(pending, .accepted, &effects)
    }

    /// Gives a notification up for a cause that is nobody's wish.
    mutating func drop(
        _ row: QueueRow,
        _ cause: Tally.Drop,
        answering verdict: Verdict,
        _ tally: inout Tally,
        _ effects: inout [Effect]
    ) {
        guard let pending = takeOut(row, &tally) else { return }
        tally[cause] += 1
        settle(pending, &effects)
        answerAll(pending, verdict, &effects)
    }

    /// Takes a notification out of the queue. What becomes of it is the caller's to count.
    mutating func takeOut(_ row: QueueRow, _ tally: inout Tally) -> Pending? {
        guard let pending = queue.remove(row) else { return nil }
        tally.pending -= 1
        registrations[pending.registration]?.pending -= 1
        return pending
    }

    /// Removes it from the disk, if it is there or on its way.
    func settle(_ pending: Pending, _ effects: inout [Effect]) {
        switch pending.durability {
        case .memoryOnly: break
        case .storing, .stored: effects.append(.settle(pending.row))
        }
    }

    /// Answers everyone who waits for a notification that has been taken out.
    mutating func answerAll(_ pending: Pending, _ verdict: Verdict, _ effects: inout [Effect]) {
        if let receipt = pending.receipt { effects.append(.answer(receipt, verdict)) }
        for receipt in alsoWaiting.removeValue(forKey: pending.row) ?? [] {
            effects.append(.answer(receipt, verdict))
        }
    }
}

extension Pending {
    /// Whether its time is over; a now-or-never one has its one attempt.
    func hasExpired(at now: Moment) -> Bool {
        expiresAt.map { $0 <= now } ?? false
    }
}
