import PostriderNotifications
import PostriderTransport

/// The receipts of the subscriptions whose home is this shard, and the senders that wait for them. A receipt is kept,
/// also over restarts, until its sender has removed it.
final class ReceiptReaders {
    private struct Reader {
        let address: ReplyAddress
        /// When it is answered although there is no receipt, in nanoseconds of the shard's clock.
        let deadline: UInt64
    }

    private let context: ShardContext
    private let changes: RegistryChanges
    /// The receipts that are not removed, in the order in which their messages have ended.
    private var unread: [ReceiptSubscription: [Receipt]] = [:]
    private var count = 0
    private var readers: [ReceiptSubscription: [Reader]] = [:]
    private var timer: (any LoopTimer)?

    init(_ context: ShardContext, _ changes: RegistryChanges) {
        self.context = context
        self.changes = changes
    }

    /// Takes receipts from the store.
    func restore(_ receipts: [Receipt]) {
        for receipt in receipts where receipt.outcome != nil { keep(receipt) }
    }

    /// Other nodes have these subscriptions from now on. Who waits for their receipts asks again there.
    func forget(where isMoved: (DeviceIdentity) -> Bool) {
        for (subscription, receipts) in unread where isMoved(subscription.identity) {
            unread[subscription] = nil
            count -= receipts.count
        }
        answer { subscription, _ in isMoved(subscription.identity) }
    }

    /// A message has ended, and its receipt is durable.
    func take(_ receipt: Receipt) {
        keep(receipt)
        for reader in readers.removeValue(forKey: receipt.subscription) ?? [] {
            answer(reader.address, of: receipt.subscription)
        }
    }

    /// A sender asks for receipts, and waits for the first if there is none.
    func read(_ subscription: ReceiptSubscription, _ address: ReplyAddress, waitingSeconds seconds: Int) {
        guard unread[subscription] == nil, seconds > 0, !context.isDraining else {
            return answer(address, of: subscription)
        }
        var waiting = readers[subscription] ?? []
        if waiting.count >= Limits.receiptReaders {
            answer(waiting.removeFirst().address, of: subscription)
        }
        let deadline = context.scheduler.now + UInt64(seconds) * 1_000_000_000
        waiting.append(Reader(address: address, deadline: deadline))
        readers[subscription] = waiting
        arm()
    }

    /// A sender has a receipt: it is removed. Returns false if there is none.
    func remove(_ row: QueueRow, of subscription: ReceiptSubscription) -> Bool {
        guard let place = unread[subscription]?.firstIndex(where: { $0.row == row }) else { return false }
        remove(at: place, of: subscription)
        return true
    }

    /// Removes receipts whose time is over.
    func sweep() {
        let now = context.now
        for (subscription, receipts) in unread.sorted(by: { $0.key.identity.high < $1.key.identity.high }) {
            for receipt in receipts where receipt.expiresAt <= now {
                _ = remove(receipt.row, of: subscription)
            }
        }
    }

    /// Answers everybody, because the relay stops.
    func drain() { answer { _, _ in true } }

    private func keep(_ receipt: Receipt) {
        let subscription = receipt.subscription
        // The node of its message may tell a receipt that was read from the store before.
        guard unread[subscription]?.contains(where: { $0.row == receipt.row }) != true else { return }
        let kept = unread[subscription]?.count ?? 0
        if kept >= Limits.receiptsOfSubscription || count >= Limits.receipts {
            context.log.warning(
                "a receipt of Web Push is dropped, because too many are not fetched",
                kind: "receipts dropped")
            guard kept > 0 else { return context.outbox.send(.receipt(.remove(receipt.row))) }
            remove(at: 0, of: subscription)
        }
        unread[subscription, default: []].append(receipt)
        count += 1
    }

    private func remove(at place: Int, of subscription: ReceiptSubscription) {
        guard let receipt = unread[subscription]?.remove(at: place) else { return }
        if unread[subscription]?.isEmpty == true { unread[subscription] = nil }
        count -= 1
        context.outbox.send(.receipt(.remove(receipt.row)))
    }

    private func answer(_ address: ReplyAddress, of subscription: ReceiptSubscription) {
        let some = Array((unread[subscription] ?? []).prefix(Limits.receiptsAtOnce))
        context.outbox.send(.web(.receipts(some, address)), to: Int(address.shard))
    }

    // MARK: Time

    /// Arms the timer for the reader that has to be answered first.
    private func arm() {
        guard let first = readers.values.joined().map(\.deadline).min() else { return }
        let timer = self.timer ?? context.scheduler.makeTimer { [unowned self] in timeIsUp() }
        self.timer = timer
        let now = context.scheduler.now
        timer.arm(afterMilliseconds: Int((first - min(now, first)) / 1_000_000) + 1)
    }

    private func timeIsUp() {
        let now = context.scheduler.now
        answer { $1.deadline <= now }
        arm()
    }

    private func answer(where isDue: (ReceiptSubscription, Reader) -> Bool) {
        // In an order that does not depend on hashes, because the same seed has to lead to the same run.
        for (subscription, waiting) in readers.sorted(by: { $0.key.identity.high < $1.key.identity.high }) {
            for reader in waiting where isDue(subscription, reader) {
                answer(reader.address, of: subscription)
            }
            let left = waiting.filter { !isDue(subscription, $0) }
            readers[subscription] = left.isEmpty ? nil : left
        }
    }
}
