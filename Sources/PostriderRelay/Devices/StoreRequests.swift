import PostriderDeviceQueue
import PostriderNotifications
import PostriderTransport

/// The requests of a shard's devices to the ledger, about their notifications.
///
/// A notification that was sent to a device which acknowledges at once is deferred for a moment: most pushes to
/// connected devices never get to the ledger.
final class StoreRequests {
    private let context: ShardContext
    /// The receipts of Web Push that are owed to senders.
    let receipts: ReceiptPromises
    /// The answers that are owed to senders of Web Push.
    let webAnswers: WebAnswers
    private var deferred = DeferredStores()
    private var timer: (any LoopTimer)?
    /// Counts the ends of turns.
    private var turn = 0

    init(_ context: ShardContext, _ changes: RegistryChanges) {
        self.context = context
        receipts = ReceiptPromises(context, changes)
        webAnswers = WebAnswers(context, receipts)
    }

    /// Creates the timer.
    func start() { timer = context.scheduler.makeTimer {} }

    /// Has a notification made durable: now or, if it was sent to a device that acknowledges at once, a moment later.
    /// One with a receipt does not wait: if the relay were killed after the acknowledgement, the receipt would be
    /// lost.
    func store(_ queued: QueuedNotification, isSent: Bool, _ latency: inout AckLatency) {
        guard isSent, !context.isDraining, latency.isPrompt, !receipts.contains(queued.row) else {
            if isSent { latency.begin(queued.row, at: moment) }
            return context.outbox.send(.store(queued, postedAt: context.scheduler.now))
        }
        deferred.hold(queued, since: moment)
    }

    /// Has a notification removed from the disk, unless it is not there yet.
    func settle(_ row: QueueRow, _ latency: inout AckLatency) {
        if deferred.settle(row) { return }
        if !receipts.isEmpty { receipts.settled(row) }
        latency.end(row, at: moment)
        context.outbox.send(.settle(row))
    }

    /// The end of a turn: deferred notifications whose acknowledgements are late go to the ledger. `isLate` is called
    /// with the device of each.
    func turnEnded(isLate: (DeviceIdentity) -> Void) {
        turn += 1
        guard deferred.oldest != nil else { return }
        storeDeferred(lateAt: context.isDraining ? nil : moment, isLate)
        guard let oldest = deferred.oldest, let timer, !timer.isArmed else { return }
        let waited = Int((context.scheduler.now - oldest.nanoseconds) / 1_000_000)
        timer.arm(afterMilliseconds: max(1, Limits.acknowledgementMilliseconds - waited))
    }

    /// Has the ledger store everything that was deferred, late or not.
    func storeAll() { storeDeferred(lateAt: nil) { _ in } }

    private func storeDeferred(lateAt moment: SendTime?, _ isStored: (DeviceIdentity) -> Void) {
        while let queued = deferred.takeFirst(lateAt: moment) {
            isStored(queued.notification.device)
            context.outbox.send(.store(queued, postedAt: context.scheduler.now))
        }
    }

    /// The current moment, by which acknowledgements are timed.
    private var moment: SendTime { SendTime(nanoseconds: context.scheduler.now, turn: turn) }
}
