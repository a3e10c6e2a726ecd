import PostriderNotifications
import PostriderStorage
import Testing

/// Tests of receipts.
extension StoreConformanceTests {
    func receipt(_ row: Int64, _ outcome: Receipt.Outcome? = nil) -> Receipt {
        Receipt(
            row: QueueRow(row), device: device(UInt64(row)).identity,
            registration: RegistrationNumber(UInt32(row), in: .development),
            subscription: ReceiptSubscription(device(.max).identity),
            expiresAt: Moment(milliseconds: row * 7),
            outcome: outcome)
    }

    func commit(
        _ store: any Store, enqueue: [QueuedNotification] = [], settle: [Int64] = [],
        _ receipts: [ReceiptChange]
    ) throws {
        var batch = QueueBatch()
        batch.enqueued = enqueue
        batch.settled = settle.map(QueueRow.init)
        batch.receipts = receipts
        var answers: [Result<Void, StoreError>] = []
        store.commit(batch) { answers.append($0) }
        try #require(answers.count == 1)
        try answers[0].get()
    }

    @Test(
        "Receipts are kept, changed and removed in the transactions of the queue", arguments: Engine.allCases)
    func receipts(_ engine: Engine) throws {
        let fixture = try StoreFixture(engine)
        #expect(try fixture.store.loadReceipts().isEmpty)
        let first = [ReceiptChange.put(receipt(9)), .put(receipt(2))]
        try commit(fixture.store, enqueue: [sample(9), sample(2)], first)
        #expect(try fixture.store.loadReceipts() == [receipt(2), receipt(9)])
        let second = [
            ReceiptChange.put(receipt(2, .delivered)), .put(receipt(9, .ended)), .remove(QueueRow(9)),
            .remove(QueueRow(77)),
        ]
        for _ in 1...2 {
            try commit(fixture.store, settle: [2], second)
            #expect(try fixture.store.loadReceipts() == [receipt(2, .delivered)])
            #expect(try fixture.store.rows() == [9])
            try fixture.reopen()
            #expect(try fixture.store.loadReceipts() == [receipt(2, .delivered)])
        }
    }

    @Test("A batch that fails changes no receipt", arguments: Engine.allCases)
    func failedReceipts(_ engine: Engine) throws {
        let fixture = try StoreFixture(engine)
        try commit(fixture.store, enqueue: [sample(1)], [.put(receipt(1))])
        #expect(throws: StoreError.self) {
            try commit(fixture.store, enqueue: [sample(1)], [.put(receipt(1, .ended)), .put(receipt(2))])
        }
        #expect(try fixture.store.loadReceipts() == [receipt(1)])
    }
}
