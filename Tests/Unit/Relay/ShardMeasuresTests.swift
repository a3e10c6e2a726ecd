import PostriderCourier
import PostriderMetrics
import PostriderNotifications
import PostriderTransport
import RelayFixtures
import Testing

@testable import PostriderDeviceQueue
@testable import PostriderRelay

@Suite("What a relay counts for metrics")
struct ShardMeasuresTests {
    private static func topic(_ number: Int) throws -> Topic {
        try #require(Topic("com.example.app\(number)"))
    }

    @Test("names the first topics, the same on all shards, and counts ten thousand others as one")
    func topics() throws {
        let labels = TopicLabels(capacity: 3)
        var (left, right) = (TopicCounter(labels), TopicCounter(labels))
        for number in 0..<10_000 {
            // The shards meet the topics in different orders.
            for _ in 0...number % 2 { left.count(try Self.topic(number)) }
            right.count(try Self.topic(9_999 - number))
        }
        var sum = left.counts
        sum += right.counts
        #expect(sum.topics == [try Self.topic(0), try Self.topic(9_999), try Self.topic(1)])
        #expect(sum.counts == [2, 3, 3])
        #expect(sum.others == 15_000 + 10_000 - 8)
    }

    @Test("has as many series for ten thousand topics as for a hundred")
    func series() throws {
        var counter = TopicCounter(TopicLabels())
        for number in 0..<10_000 { counter.count(try Self.topic(number)) }
        var report = ShardReport()
        report.measures.topics = counter.counts
        var sum = ShardReport()
        sum += report
        let family = try #require(sum.pushFamilies.first { $0.name.hasPrefix("postrider_topic_") })
        #expect(family.samples.count == Limits.measuredTopics + 1)
        #expect(family.samples.first?.labels.map(\.value) == [try Self.topic(0).text])
        #expect(family.samples.last?.labels.map(\.value) == [TopicLabels.other])
    }

    @Test("counts answers of rules as refusals, by APNs's reasons, and all other reasons as one")
    func scripted() throws {
        func series(_ report: ShardReport) throws -> [String: UInt64] {
            let pushes = try #require(report.pushFamilies.first { $0.name == "postrider_pushes_total" })
            let pairs = pushes.samples.compactMap { sample -> (String, UInt64)? in
                guard case .unsigned(let count) = sample.value, let reason = sample.labels.last else {
                    return nil
                }
                return count > 0 ? (reason.value, count) : nil
            }
            return Dictionary(uniqueKeysWithValues: pairs)
        }
        var (left, right) = (ShardReport(), ShardReport())
        #expect(try series(left).isEmpty)
        left.measures.count(scripted: "ServiceUnavailable")
        right.measures.count(scripted: "ServiceUnavailable")
        right.measures.count(scripted: "OfMyOwn")
        right.measures.count(scripted: "OfYours")
        left += right
        #expect(try series(left) == ["ServiceUnavailable": 2, "custom": 2])
    }

    @Test("tells the oldest notification that waits, and who was seen within a day")
    func census() throws {
        let fixture = try DeviceFixture(devices: 3)
        fixture.clock.advance(byMilliseconds: 48 * 60 * 60 * 1000)
        _ = try fixture.connect(0)
        let away = try fixture.connect(1)
        away.session.end(.ok, "")
        try fixture.push(1, to: 2)
        fixture.clock.advance(byMilliseconds: 60_000)
        try fixture.push(2, to: 2)
        let census = fixture.shard.report.census
        #expect(census.waiting == 2 && census.connected == 1 && census.seenWithinDay == 2)
        #expect(census.oldestAcceptedAt == Moment(seconds: Samples.now.milliseconds / 1000))
        fixture.clock.advance(byMilliseconds: 24 * 60 * 60 * 1000)
        #expect(fixture.shard.report.census.seenWithinDay == 1)
    }

    @Test("times a delivery from acceptance to acknowledgement, and survives a clock that is put back")
    func deliveries() {
        var tally = Tally()
        tally.noteDelivery(Samples.now, Samples.now.advanced(byMilliseconds: 7))
        tally.noteDelivery(Samples.now, Samples.now.advanced(byMilliseconds: -7))
        #expect(tally.deliveries.count == 2 && tally.deliveries.sum == 7_000_000)
    }

    @Test("counts how connections ended, each by one of a few words")
    func ends() throws {
        let fixture = try DeviceFixture()
        fixture.shard.context.deviceEnds.note(.peerReset, of: nil)
        fixture.shard.context.deviceEnds.note(.handshakeFailed("a", name: "unknown_ca"), of: nil)
        fixture.shard.context.deviceEnds.note(.handshakeFailed("b", name: "bad_certificate"), of: nil)
        fixture.shard.context.providerEnds.note(.idleTimeout, of: nil)
        #expect(
            fixture.shard.report.measures.ends == [
                .device: [.peerReset: 1, .handshakeFailed: 2], .provider: [.idleTimeout: 1],
            ])
    }

    @Test("gives every metric a name of its own")
    func names() {
        let report = ShardReport()
        let families =
            report.pushFamilies + report.notificationFamilies(shards: [report]) + report.connectionFamilies
            + report.deviceFamilies + LedgerReport().families(isFailing: false)
        #expect(Set(families.map(\.name)).count == families.count)
        #expect(families.allSatisfy { $0.name.hasPrefix("postrider_") && $0.help.hasSuffix(".") })
    }

    @Test("accounts for what was replaced and waits again without a counter that falls")
    func recalled() throws {
        var report = ShardReport()
        report.tally.accepted = 5
        report.tally.replaced = 1
        report.tally.recalled = 2
        report.tally.pending = 4
        let families = report.notificationFamilies(shards: [report])
        let ends = try #require(families.first { $0.name == "postrider_notifications_ended_total" })
        let replaced = try #require(ends.samples.first { $0.labels.contains { $0.value == "replaced" } })
        guard case .unsigned(3) = replaced.value else {
            Issue.record("\(replaced)")
            return
        }
    }
}

@Suite("What a ledger counts for metrics")
struct LedgerMeasuresTests {
    private static let full = StoreError(.full, "The disk is full.")

    private static func batch(_ rows: ClosedRange<Int64>) -> QueueBatch {
        var batch = QueueBatch()
        batch.enqueued = rows.map {
            QueuedNotification(row: QueueRow($0), notification: Samples.notification(UInt64($0)))
        }
        return batch
    }

    @Test("are its batches, how long they took, and how long each notification waited for its own")
    func batches() {
        let measures = LedgerMeasures()
        let batch = Self.batch(1...2)
        let messages = [
            LedgerCommand.store(batch.enqueued[0], postedAt: 1_000_000), .settle(QueueRow(9)),
            .store(batch.enqueued[1], postedAt: 3_000_000),
        ]
        measures.began(messages[...], at: 4_000_000)
        measures.ended(.success(()), of: batch, began: 4_000_000, at: 9_000_000)
        let report = measures.report
        #expect(report.committedBatches == 1 && report.failedBatches == 0 && report.stored == 2)
        #expect(report.waits.count == 2 && report.waits.sum == 4_000_000)
        #expect(report.commits.count == 1 && report.commits.sum == 5_000_000)
    }

    @Test("say why nothing is stored, until something is or for a minute")
    func failure() {
        let measures = LedgerMeasures()
        measures.ended(.failure(Self.full), of: Self.batch(1...1), began: 0, at: 10)
        #expect(measures.report.presentFailure(at: 10) == "The disk is full.")
        // The success of a batch that only removes rows proves nothing, since a full disk allows that too.
        measures.ended(.success(()), of: QueueBatch(), began: 10, at: 11)
        #expect(measures.report.presentFailure(at: FailureEpisodes.quiet) != nil)
        #expect(measures.report.presentFailure(at: FailureEpisodes.quiet + 10) == nil)
        measures.ended(.failure(Self.full), of: Self.batch(1...1), began: 0, at: 20)
        measures.ended(.success(()), of: Self.batch(1...1), began: 20, at: 21)
        #expect(measures.report.presentFailure(at: 21) == nil)
        #expect(measures.report.failedBatches == 2)
    }
}
