import PostriderNotifications
import RelayFixtures
import Testing

@testable import PostriderSpans

@Suite("Batches of spans")
struct SpanBatchesTests {
    private static let second: UInt64 = 1_000_000_000

    private static func spans(_ count: Int) -> [PushSpan] {
        let queued = QueuedNotification(row: QueueRow(1), notification: Samples.notification(1))
        let push = SpanPush(queued, isNew: true)
        return (0..<count).map { number in
            PushSpan(
                kind: .accept, trace: push.trace, identifier: UInt64(number + 1), parent: 0,
                start: Samples.now,
                end: Samples.now, failure: nil, devices: nil, push: push)
        }
    }

    @Test("are sent when they are full, or after a second, one at a time")
    func due() {
        var batches = SpanBatches()
        #expect(batches.nextDeadline == nil && batches.takeDue(now: 0) == nil)
        #expect(batches.add(Self.spans(3), now: 5) == 0)
        #expect(batches.takeDue(now: 5) == nil && batches.nextDeadline == 5 + Self.second)
        #expect(batches.takeDue(now: 5 + Self.second)?.count == 3)
        #expect(batches.add(Self.spans(Limits.spanBatch + 1), now: 9) == 0)
        #expect(batches.takeDue(now: .max) == nil && batches.nextDeadline == nil)
        #expect(batches.ended(.answered(200), now: 10) == .sent(3))
        #expect(batches.nextDeadline == 0)
        #expect(batches.takeDue(now: 10)?.count == Limits.spanBatch)
        #expect(batches.ended(.answered(202), now: 10) == .sent(Limits.spanBatch))
        #expect(batches.takeDue(now: 10) == nil && batches.takeDue(now: 10, isLast: true)?.count == 1)
    }

    @Test("are repeated after a failure that passes, and then dropped", arguments: [nil, 429, 502, 503, 504])
    func retries(_ status: Int?) {
        let outcome = status.map { SpanBatches.Outcome.answered($0) } ?? .failed
        var batches = SpanBatches()
        _ = batches.add(Self.spans(2), now: 0)
        var now: UInt64 = Self.second
        #expect(batches.takeDue(now: now)?.count == 2)
        for seconds in Limits.spanRetrySeconds {
            #expect(batches.ended(outcome, now: now) == .postponed)
            #expect(batches.takeDue(now: now + seconds * Self.second - 1) == nil)
            now += seconds * Self.second
            #expect(batches.nextDeadline == now && batches.takeDue(now: now)?.count == 2)
        }
        #expect(batches.ended(outcome, now: now) == .dropped(2) && batches.count == 0)
        // The next batch has all attempts again.
        _ = batches.add(Self.spans(1), now: now)
        #expect(batches.takeDue(now: now, isLast: true)?.count == 1)
        #expect(batches.ended(outcome, now: now) == .postponed)
    }

    @Test("are dropped if the receiver refuses them", arguments: [0, 301, 400, 404, 500])
    func refused(_ status: Int) {
        var batches = SpanBatches()
        _ = batches.add(Self.spans(2), now: 0)
        _ = batches.takeDue(now: 0, isLast: true)
        #expect(batches.ended(.answered(status), now: 0) == .dropped(2) && batches.count == 0)
    }

    @Test("have a bound, above which spans are dropped, also those of a batch that is under way")
    func bounds() {
        var batches = SpanBatches()
        #expect(batches.add(Self.spans(Limits.spansWaiting - 1), now: 0) == 0)
        #expect(batches.takeDue(now: 0)?.count == Limits.spanBatch)
        #expect(batches.add(Self.spans(3), now: 0) == 2)
        #expect(batches.count == Limits.spansWaiting)
    }
}
