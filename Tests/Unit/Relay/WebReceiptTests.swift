import Foundation
import PostriderDeviceQueue
import PostriderNotifications
import PostriderStorage
import Testing

@testable import PostriderRelay

@Suite("The receipt of a message of Web Push")
struct WebReceiptTests {
    private let fixture: WebFixture
    private let browser: Browser
    private let endpoint: String

    init() throws {
        fixture = try WebFixture()
        browser = try fixture.connect()
        endpoint = try fixture.register(browser, channel: "d9b74644-4f97-46aa-b8fa-9393985cd6cd")
    }

    /// Sends a message whose sender wants a receipt. Returns its address and that of its receipt.
    private func post(_ fields: [String: String] = [:]) throws -> (message: String, receipts: String) {
        let sender = try fixture.post(
            "a", to: endpoint, ["Prefer": "respond-async"].merging(fields) { $1 })
        fixture.commit()
        #expect(sender.status == 202)
        let link = try #require(sender.field("link"))
        #expect(link.hasSuffix(">; rel=\"urn:ietf:params:push:receipt\"") && link.hasPrefix("<"))
        return (
            try #require(sender.field("location")), String(link.dropFirst().prefix { $0 != ">" })
        )
    }

    /// The receipts that a sender gets at once.
    private func read(_ receipts: String) throws -> [ToldReceipt] {
        let reader = try fixture.request("GET", receipts, ["Prefer": "wait=0"])
        return reader.status == 204 ? [] : try ToldReceipt.all(in: reader)
    }

    private func acknowledge() throws {
        try browser.acknowledge(try #require(browser.messages("notification").last))
        fixture.run()
        fixture.commit()
    }

    private func leave() {
        browser.line.cut()
        fixture.run()
    }

    @Test("comes when the browser has acknowledged it, and stays until its sender has removed it")
    func life() throws {
        let (message, receipts) = try post()
        #expect(try read(receipts).isEmpty)
        let waiting = try fixture.request("GET", receipts)
        #expect(waiting.status == nil)
        try acknowledge()
        #expect(waiting.status == 200)
        let receipt = try #require(try ToldReceipt.all(in: waiting).first)
        #expect(receipt.message == message && receipt.status == 204)
        #expect(try read(receipts) == [receipt])
        let removal = try fixture.request("DELETE", receipt.receipt)
        #expect(removal.status == nil, "it is not gone from the disk")
        fixture.commit()
        #expect(removal.status == 204)
        #expect(try read(receipts).isEmpty)
        #expect(try fixture.request("DELETE", receipt.receipt).status == 404)
        #expect(fixture.shard.report.tally.isBalanced)
    }

    @Test("is not promised before it is durable, although the browser was faster")
    func order() throws {
        let sender = try fixture.post("a", to: endpoint, ["Prefer": "respond-async"])
        try browser.acknowledge(try #require(browser.messages("notification").last))
        fixture.run()
        #expect(sender.status == nil)
        fixture.commit()
        #expect(sender.status == 202)
        // The outcome was in the same transaction as the removal of the row, and before it.
        let link = try #require(sender.field("link"))
        fixture.commit()
        let receipts = String(link.dropFirst().prefix { $0 != ">" })
        #expect(try read(receipts).map(\.status) == [204])
    }

    @Test("says 410 for a message that ended without the browser: expired, replaced, cancelled, unsubscribed")
    func ends() throws {
        leave()
        let (cancelled, receipts) = try post()
        let link = ["Link": "<\(receipts)>; rel=\"urn:ietf:params:push:receipt\""]
        func another(_ fields: [String: String] = [:]) throws -> String {
            let (message, again) = try post(link.merging(fields) { $1 })
            #expect(again == receipts, "several messages share one subscription")
            return message
        }
        let expired = try another(["TTL": "1"])
        let replaced = try another(["Topic": "a"])
        let attempted = try another(["TTL": "0"])
        let kept = try another(["Topic": "a"])
        _ = try fixture.request("DELETE", cancelled)
        fixture.advance(bySeconds: 11)
        fixture.commit()
        fixture.commit()
        let told = try read(receipts)
        #expect(told.allSatisfy { $0.status == 410 })
        #expect(Set(told.map(\.message)) == [cancelled, expired, replaced, attempted])
        let again = try fixture.connect(try #require(browser.uaid))
        again.say(
            #"{"messageType":"unregister","channelID":"d9b74644-4f97-46aa-b8fa-9393985cd6cd","code":200}"#)
        fixture.run()
        fixture.commit()
        fixture.commit()
        let all = try read(receipts)
        #expect(all.count == 5 && all.last?.message == kept && all.last?.status == 410)
    }

    @Test("is not given for a message that was replaced for a moment only")
    func recalled() throws {
        leave()
        let (message, receipts) = try post(["Topic": "a"])
        let newer = try fixture.post("b", to: endpoint, ["Topic": "a"])
        fixture.commit(isDurable: false)
        #expect(newer.status == 503)
        #expect(try read(receipts).isEmpty)
        let again = try fixture.connect(try #require(browser.uaid))
        fixture.commit()
        try again.acknowledge(try #require(again.messages("notification").last))
        fixture.run()
        fixture.commit()
        #expect(try read(receipts).map(\.message) == [message])
        #expect(try read(receipts).map(\.status) == [204])
    }

    @Test("is not promised by a disk that fails: the message is accepted when the browser has it")
    func failingDisk() throws {
        let sender = try fixture.post("a", to: endpoint, ["Prefer": "respond-async"])
        fixture.commit(isDurable: false)
        #expect(sender.status == nil)
        try acknowledge()
        #expect(sender.status == 201 && sender.field("link") == nil)
        let puts = fixture.ledger.receipts.filter { if case .put = $0 { true } else { false } }
        #expect(puts.isEmpty)
    }

    @Test("is not left behind by a message that was refused")
    func refused() throws {
        let quota = try #require(Quota("topic=web-push pending=1"))
        let fixture = try WebFixture(quotas: QuotaSet([quota]))
        let browser = try fixture.connect()
        let endpoint = try fixture.register(browser, channel: "d9b74644-4f97-46aa-b8fa-9393985cd6cd")
        browser.line.cut()
        fixture.run()
        for status in [202, 429] {
            let sender = try fixture.post("a", to: endpoint, ["Prefer": "respond-async"])
            fixture.commit()
            #expect(sender.status == status)
        }
        let rows = fixture.ledger.receipts.map(\.row)
        #expect(rows.count == 3 && rows[1] == rows[2])
        #expect(fixture.ledger.receipts.last == .remove(rows[1]))
    }

    @Test("is not given for a message that was refused after a while, because its device was removed")
    func refusedLater() throws {
        leave()
        let (_, receipts) = try post()
        let refused = try fixture.post(
            "b", to: endpoint,
            ["Prefer": "respond-async", "Link": "<\(receipts)>; rel=\"urn:ietf:params:push:receipt\""])
        let entry = try #require(fixture.shard.home.entries.values.first { _ in true })
        #expect(fixture.shard.home.remove(entry.identity))
        fixture.run()
        #expect(refused.status == 404)
        fixture.commit()
        fixture.commit()
        #expect(try read(receipts).count == 1, "only the first was accepted")
        let removed = fixture.ledger.receipts.filter { if case .remove = $0 { true } else { false } }
        #expect(removed.count == 1)
    }

    @Test("survives a restart, whether its message has ended before, during or after it")
    func restart() throws {
        leave()
        let (ended, receipts) = try post()
        let link = ["Link": "<\(receipts)>; rel=\"urn:ietf:params:push:receipt\""]
        let (waiting, _) = try post(link)
        let (lost, _) = try post(link)
        _ = try fixture.request("DELETE", ended)
        fixture.commit()
        fixture.commit()
        let store = MemoryStore()
        let entry = try #require(fixture.shard.home.entries.values.first { _ in true })
        store.apply([.putDevice(entry.device.record)] + fixture.ledger.made) { _ in }
        var batch = QueueBatch()
        // The relay was killed when the last message had been sent and nothing was known of its acknowledgement.
        batch.enqueued = fixture.ledger.queued.dropLast()
        batch.receipts = fixture.ledger.receipts
        store.commit(batch) { _ in }
        let other = try WebFixture(store)
        other.commit()
        other.commit()
        let reader = try other.request("GET", receipts, ["Prefer": "wait=0"])
        let told = try ToldReceipt.all(in: reader)
        #expect(told.map(\.message) == [ended, lost] && told.map(\.status) == [410, 410])
        let again = try other.connect(try #require(browser.uaid))
        other.commit()
        try again.acknowledge(try #require(again.messages("notification").last))
        other.run()
        other.commit()
        let last = try ToldReceipt.all(in: try other.request("GET", receipts, ["Prefer": "wait=0"])).last
        #expect(last?.message == waiting && last?.status == 204)
    }

    @Test("is waited for as long as its sender wants, by some requests at a time")
    func waiting() throws {
        let (_, receipts) = try post()
        let readers = try (0...Limits.receiptReaders).map { _ in
            try fixture.request("GET", receipts, ["Prefer": "wait=3"])
        }
        #expect(readers.map(\.status) == [204] + Array(repeating: nil, count: Limits.receiptReaders))
        fixture.advance(bySeconds: 4)
        #expect(readers.allSatisfy { $0.status == 204 })
        let last = try fixture.request("GET", receipts)
        var messages = [ShardMessage.lifecycle(.drain)]
        fixture.shard.receive(&messages)
        fixture.run()
        #expect(last.status == 204, "the relay stops")
    }

    @Test("takes the place of the oldest of its subscription when too many are not fetched")
    func overflow() throws {
        let subscription = ReceiptSubscription(DeviceIdentity(high: 1, low: 2))
        let readers = fixture.shard.web.home.readers
        for row in 1...Limits.receiptsOfSubscription + 1 {
            readers.take(
                Receipt(
                    row: QueueRow(Int64(row)), device: DeviceIdentity(high: 3, low: 4),
                    registration: RegistrationNumber(1), subscription: subscription,
                    expiresAt: .last, outcome: .delivered))
        }
        fixture.run()
        fixture.commit()
        #expect(fixture.ledger.receipts == [.remove(QueueRow(1))])
        #expect(fixture.logged.contains { $0.contains("a receipt of Web Push is dropped") })
        #expect(!readers.remove(QueueRow(1), of: subscription))
        #expect(readers.remove(QueueRow(2), of: subscription))
    }

    @Test("is nobody's whose URL was not made by the relay, and is kept for a time")
    func bounds() throws {
        let (message, receipts) = try post()
        for wrong in [
            WebFixture.origin + "/r/1", String(receipts.dropLast()) + (receipts.hasSuffix("0") ? "1" : "0"),
            endpoint.replacing("/push/", with: "/r/"),
        ] { #expect(try fixture.request("GET", wrong).status == 404) }
        let (_, other) = try post(["Link": "<\(message)>; rel=\"urn:ietf:params:push:receipt\""])
        #expect(other != receipts)
        try acknowledge()
        #expect(try read(receipts).count == 1)
        // A clock that is wrong for a moment ends nothing.
        fixture.clock.shiftMilliseconds = 365 * 24 * 60 * 60 * 1000
        fixture.clock.advance(byMilliseconds: 11_000)
        fixture.run()
        fixture.clock.shiftMilliseconds = 0
        #expect(try read(receipts).count == 1)
        fixture.clock.advance(byMilliseconds: (Int(Limits.receiptDays) * 24 * 60 * 60 + 60) * 1000)
        fixture.run()
        #expect(try read(receipts).isEmpty)
    }
}
