import PostriderNotifications
import RelayFixtures
import Testing

@testable import PostriderRelay

@Suite("A confirmation of the ledger")
struct LedgerConfirmationTests {
    private final class Post {
        var lines: [String] = []
    }

    private let store = SlowStore()
    private let post = Post()
    private let ledger: Ledger

    init() {
        let post = post
        ledger = Ledger(
            store: store, shardCount: 2, log: .none,
            post: { message, shard in
                guard case .registry(.applied(let ticket, let result)) = message else { return }
                post.lines.append("\(shard) \(ticket) \(result.isSuccess)")
            },
            copy: { _, _ in }, rest: { _ in },
            time: LedgerTime(now: { 0 }, alarm: { _ in }, arrived: { 0 }), onClosed: {})
    }

    private func stored(_ row: Int64) -> LedgerCommand {
        .store(
            QueuedNotification(row: QueueRow(row), notification: Samples.notification(UInt64(row))),
            postedAt: 0)
    }

    @Test("comes when everything before it is committed")
    func committed() {
        store.isHeld = true
        ledger.receive([stored(1), .confirm(shard: 1, ticket: 7)])
        #expect(post.lines.isEmpty)
        store.complete()
        #expect(post.lines == ["1 7 true"])
    }

    @Test("comes also if nothing is left to be written")
    func nothing() {
        ledger.receive([stored(2), .settle(QueueRow(2)), .confirm(shard: 0, ticket: 8)])
        #expect(post.lines == ["0 8 true"] && store.batches.isEmpty)
    }

    @Test("says that the commit has failed")
    func failed() {
        store.failures = 1
        ledger.receive([.settle(QueueRow(1)), .confirm(shard: 0, ticket: 9)])
        #expect(post.lines == ["0 9 false"])
    }

    @Test("is true of receipts that the disk refused at first only when they are written, in their order")
    func owedReceipts() {
        func receipt(_ outcome: Receipt.Outcome?) -> Receipt {
            Receipt(
                row: QueueRow(1), device: Samples.device, registration: Samples.first,
                subscription: ReceiptSubscription(Samples.device), expiresAt: Samples.now, outcome: outcome)
        }
        store.failures = 1
        ledger.receive([
            .receipt(.put(receipt(.delivered))), .settle(QueueRow(1)), .confirm(shard: 0, ticket: 1),
        ])
        ledger.receive([.receipt(.put(receipt(.ended))), .confirm(shard: 0, ticket: 2)])
        #expect(post.lines == ["0 1 false", "0 2 true"])
        #expect(store.batches.last?.settled == [QueueRow(1)])
        #expect(
            store.batches.last?.receipts == [.put(receipt(.delivered)), .put(receipt(.ended))])
    }
}
