import PostriderNotifications

/// The receipts of messages that wait for this shard's devices. Each is durable before its sender hears that its
/// message is accepted. The outcome is written in the transaction that removes the message; then the receipt goes to
/// the home of its subscription (``ReceiptReaders``).
final class ReceiptPromises {
    private struct Promise {
        var receipt: Receipt
        /// Whether the promise is on the disk. Until then an outcome is not told to anybody.
        var isDurable = false
        /// Whether the sender was told that its message is accepted. Until then it may still be refused, and is
        /// promised nothing then.
        var isAccepted = false
        /// Whether a newer message has replaced this one, which is kept until the newer one is durable.
        var isReplaced = false
    }

    private let context: ShardContext
    private let changes: RegistryChanges
    private var promises: [QueueRow: Promise] = [:]
    /// Receipts whose outcome the disk has refused so far, or whose subscription has no home at the moment.
    private var unfinished: [Receipt] = []

    init(_ context: ShardContext, _ changes: RegistryChanges) {
        self.context = context
        self.changes = changes
    }

    /// Whether no message has a receipt.
    var isEmpty: Bool { promises.isEmpty }

    /// Whether the message at a row has a receipt.
    func contains(_ row: QueueRow) -> Bool { promises[row] != nil }

    /// Takes receipts from the store. `isPending` says whether a message waits for its device; a promise for another
    /// one was not kept, because the relay was killed: as far as the relay knows, it was not acknowledged.
    func restore(_ receipts: [Receipt], isPending: (Receipt) -> Bool) {
        for receipt in receipts where receipt.outcome == nil {
            promises[receipt.row] = Promise(receipt: receipt, isDurable: true, isAccepted: true)
            if !isPending(receipt) { end(receipt.row, .ended) }
        }
    }

    /// Promises a receipt, before its message is offered to its device.
    func add(_ receipt: Receipt) {
        promises[receipt.row] = Promise(receipt: receipt)
        context.outbox.send(.receipt(.put(receipt)))
    }

    /// A message is accepted: what is promised for it holds.
    func accepted(_ row: QueueRow) {
        promises[row]?.isAccepted = true
        finishIfOver(row)
    }

    /// A message is refused: nothing is promised for it any more.
    func refused(_ row: QueueRow) {
        guard promises.removeValue(forKey: row) != nil else { return }
        context.outbox.send(.receipt(.remove(row)))
    }

    /// Calls `then` when it is known whether a promise, and the message if it is to be stored, are durable. A promise
    /// that is not is given up.
    func confirm(_ row: QueueRow, then: @escaping (_ isDurable: Bool) -> Void) {
        changes.confirm { [unowned self] result in
            if result.isSuccess {
                promises[row]?.isDurable = true
                finishIfOver(row)
            } else {
                refused(row)
            }
            then(result.isSuccess)
        }
    }

    /// Something has happened to a message. `isKept` is whether a message that was replaced is kept until the newer one
    /// is durable.
    func note(_ kind: TraceEvent.Kind, _ row: QueueRow, isKept: @autoclosure () -> Bool) {
        guard !promises.isEmpty, promises[row] != nil else { return }
        switch kind {
        case .acknowledged: end(row, .delivered)
        case .replaced where isKept(): promises[row]?.isReplaced = true
        case .recalled: promises[row]?.isReplaced = false
        case .replaced, .expired, .discarded, .dropped: end(row, .ended)
        default: break
        }
    }

    /// A message is about to be removed from the disk.
    func settled(_ row: QueueRow) {
        if promises[row]?.isReplaced == true { end(row, .ended) }
    }

    /// Tries again to pass on what could not be passed on.
    func sweep() {
        let due = unfinished
        unfinished = []
        due.forEach(finish)
    }

    private func end(_ row: QueueRow, _ outcome: Receipt.Outcome) {
        guard var promise = promises[row], promise.receipt.outcome == nil else { return }
        promise.receipt.outcome = outcome
        promises[row] = promise
        context.outbox.send(.receipt(.put(promise.receipt)))
        finishIfOver(row)
    }

    /// Passes the receipt of a message on that has ended, if its sender has been promised it.
    private func finishIfOver(_ row: QueueRow) {
        guard let promise = promises[row], promise.receipt.outcome != nil, promise.isDurable,
            promise.isAccepted
        else { return }
        promises[row] = nil
        finish(promise.receipt)
    }

    /// Passes a receipt on when its outcome is durable and the home of its subscription is known. A node whose database
    /// is away for a moment knows none, and has the same partitions afterwards.
    private func finish(_ receipt: Receipt) {
        changes.confirm { [unowned self] result in
            guard result.isSuccess, let home = context.outbox.place(of: receipt.subscription.identity) else {
                return unfinished.append(receipt)
            }
            context.outbox.send(.web(.receipt(receipt)), to: home)
        }
    }

    /// Other nodes have these devices from now on, and keep what their messages were promised.
    func forget(where isMoved: (DeviceIdentity) -> Bool) {
        promises = promises.filter { !isMoved($0.value.receipt.device) }
        unfinished.removeAll { isMoved($0.device) }
    }
}
