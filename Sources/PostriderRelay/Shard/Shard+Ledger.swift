import PostriderCourier
import PostriderNotifications
import PostriderTransport

/// What a shard says to the ledger, and what it hears from there.
extension Shard {
    /// Has a notification made durable. One that is in the hands of a device which acknowledges at once is held for a
    /// moment: most pushes to connected devices never come to the ledger.
    func store(_ queued: QueuedNotification, of entry: DeviceEntry, isSent: Bool) {
        guard isSent, !isDraining, entry.promptness.isPrompt else {
            if isSent { entry.promptness.begin(queued.row, at: moment) }
            return outbox.send(.store(queued))
        }
        held.hold(queued, since: moment)
    }

    /// Has a notification forgotten.
    func settle(_ row: QueueRow, of entry: DeviceEntry) {
        if held.settle(row) { return }
        entry.promptness.end(row, at: moment)
        outbox.send(.settle(row))
    }

    /// The end of a turn: those whose acknowledgements are late go to the ledger.
    func releaseHeld() {
        turn += 1
        guard held.oldest != nil else { return }
        while let queued = held.takeFirst(lateAt: isDraining ? nil : moment) {
            entries[queued.notification.device]?.promptness.isPrompt = false
            outbox.send(.store(queued))
        }
        guard let oldest = held.oldest, let heldTimer, !heldTimer.isArmed else { return }
        let waited = Int((scheduler.now - oldest.nanoseconds) / 1_000_000)
        heldTimer.arm(afterMilliseconds: max(1, Limits.acknowledgementMilliseconds - waited))
    }

    /// This moment, as acknowledgements are timed.
    private var moment: SendTime { SendTime(nanoseconds: scheduler.now, turn: turn) }

    /// The ledger has made these durable, or has failed to.
    func stored(_ rows: [StoredRow], _ failure: Rejection?) {
        for stored in rows {
            guard let entry = entries[stored.device] else { continue }
            with(entry) { device, _, tally, effects in
                device.stored(stored.row, failure: failure, &tally, &effects)
            }
        }
    }

    /// The ledger has fetched what a device waits for, or has failed to.
    func loaded(
        _ device: DeviceIdentity,
        _ asked: [QueueRow],
        _ result: Result<[QueuedNotification], StoreError>
    ) {
        throttle.ended(now: scheduler.now)
        guard let entry = entries[device] else { return }
        switch result {
        case .success(let found):
            with(entry) { device, now, tally, effects in
                device.loaded(asked, found, now: now, &tally, &effects)
            }
        case .failure:
            // What waits on the disk cannot be had now. The device is asked to come back; its return asks
            // again.
            entry.session?.leave(
                .overloaded, retryAfterMilliseconds: 5_000, "stored notifications cannot be read now")
        }
    }
}
