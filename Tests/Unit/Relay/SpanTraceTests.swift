import PostriderNotifications
import PostriderSpans
import PostriderStorage
import RelayFixtures
import Synchronization
import Testing

@testable import PostriderRelay

@Suite("What makes spans of the trace")
struct SpanTraceTests {
    /// What was sent.
    private final class Sent: Sendable {
        private let all = Mutex<[PushSpan]>([])
        func add(_ spans: [PushSpan]) { all.withLock { $0 += spans } }
        var kinds: [PushSpan.Kind] { all.withLock { $0.map(\.kind) } }
    }

    private final class Posted {
        var requests: [TraceRequest] = []
        var spanCount: Int {
            requests.reduce(0) { if case .spans(let some) = $1 { $0 + some.count } else { $0 } }
        }
    }

    private static func queued(_ row: Int64, flags: String? = "01") -> QueuedNotification {
        let it = Samples.notification(UInt64(row))
        let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-"
        return QueuedNotification(
            row: QueueRow(row),
            notification: Notification(
                identity: it.identity, device: it.device, registration: it.registration, topic: it.topic,
                pushType: it.pushType, priority: it.priority, expiration: it.expiration,
                collapseIdentifier: nil, payload: it.payload, acceptedAt: it.acceptedAt,
                traceContext: flags.flatMap { TraceContext(parent: parent + $0) }))
    }

    private func recorder(_ choice: SpanChoice?, _ posted: Posted) -> TraceRecorder {
        TraceRecorder(ofShard: 0, sample: 1, losses: TraceLosses(), spans: choice) {
            posted.requests.append($0)
            return true
        }
    }

    @Test(
        "follows the pushes that were chosen, also when the relay was restarted since, and sends their spans")
    func followed() {
        let (posted, sent) = (Posted(), Sent())
        let recorder = recorder(SpanChoice(sample: nil), posted)
        for (row, flags) in [(1, "01"), (2, "00"), (3, nil)] as [(Int64, String?)] {
            recorder.noteAccepted(Self.queued(row, flags: flags), at: Samples.now)
            recorder.note(.stored, QueueRow(row), detail: 0, at: Samples.now)
        }
        for row in [1, 4] as [Int64] {
            recorder.noteSending(Self.queued(row))
            recorder.note(.sent, QueueRow(row), detail: 0, at: Samples.now)
            recorder.note(.acknowledged, QueueRow(row), detail: 0, at: Samples.now)
        }
        recorder.flush()
        #expect(posted.spanCount == 3)
        writer(sent).receive(posted.requests)
        #expect(sent.kinds == [.accept, .commit, .deliver, .deliver])
    }

    @Test("follows a broadcast at each shard that has subscribers, whose records may come before the home's")
    func broadcasts() {
        let (posted, sent) = (Posted(), Sent())
        let broadcast = Broadcast(
            identity: Samples.notification(1).identity, channel: ChannelIdentity(high: 1, low: 2),
            topic: Samples.topic, payload: [], priority: .immediate, expiration: .nowOrNever,
            pushType: .liveactivity, acceptedAt: Samples.now,
            traceContext: TraceContext(parent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"))
        let choice = SpanChoice(sample: nil)
        let (home, other) = (recorder(choice, posted), recorder(choice, posted))
        other.noteBroadcast(broadcast, QueueRow(1), sent: 1, skipped: 1, at: Samples.now)
        other.flush()
        home.noteAccepted(broadcast, in: .production, by: .certificate, QueueRow(1), at: Samples.now)
        home.flush()
        #expect(posted.spanCount == 2)
        writer(sent).receive(posted.requests)
        #expect(sent.kinds == [.deliver, .deliver, .accept])
    }

    private func writer(_ sent: Sent) -> TraceWriter {
        TraceWriter(
            MemoryTrace(disk: MemoryTrace.Disk(), segmentRecords: 100), sample: 1, losses: TraceLosses(),
            log: .none, now: Samples.now, readClock: { 0 }, post: { _, _ in }, onClosed: {},
            spans: SpanConfiguration(sample: nil, send: sent.add))
    }

    @Test("follows nothing without a receiver")
    func off() {
        let posted = Posted()
        let recorder = recorder(nil, posted)
        recorder.noteAccepted(Self.queued(1), at: Samples.now)
        recorder.noteSending(Self.queued(1))
        recorder.flush()
        #expect(posted.spanCount == 0 && posted.requests.count == 1)
    }
}
