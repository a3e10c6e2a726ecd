import PostriderCallbackSender
import PostriderNotifications
import PostriderSpans
import Synchronization
import Testing

@Suite("The sender of spans")
struct SpanSenderTests {
    private static func spans(_ count: Int) throws -> [PushSpan] {
        let topic = try #require(Topic("com.example.app"))
        let notification = Notification(
            identity: NotificationIdentity(high: 1, low: 2), device: DeviceIdentity(high: 3, low: 4),
            registration: RegistrationNumber(1), topic: topic, pushType: nil, priority: .immediate,
            expiration: .at(.last), collapseIdentifier: nil, payload: [], acceptedAt: Moment(milliseconds: 1))
        var tracker = SpanTracker(node: 1)
        var spans: [PushSpan] = []
        for row in 1...Int64(count) {
            let queued = QueuedNotification(row: QueueRow(row), notification: notification)
            tracker.expect([SpanPush(queued, isNew: true)])
            spans += tracker.take([.event(TraceEvent(.merged, at: Moment(milliseconds: 2), row: queued.row))])
        }
        return spans
    }

    private static func sender(to url: String, log: Log = .none) throws -> SpanSender {
        try SpanSender(endpoint: url, of: SpanOrigin(version: "1.0", host: "relay.example"), log: log)
    }

    @Test("posts protobuf to /v1/traces below the URL, in batches", arguments: ["", "/", "/otlp"])
    func batches(_ path: String) async throws {
        let receiver = try Receiver()
        let sender = try Self.sender(to: receiver.url(path))
        sender.send(try Self.spans(Limits.spanBatch + 1))
        await sender.stop()
        #expect(sender.counts.sent == UInt64(Limits.spanBatch + 1) && sender.counts.dropped == 0)
        let base = path == "/" ? "" : path
        #expect(receiver.all.map(\.line) == Array(repeating: "POST \(base)/v1/traces HTTP/1.1", count: 2))
        #expect(receiver.all.allSatisfy { $0.fields["content-type"] == "application/x-protobuf" })
    }

    @Test("drops what the receiver refuses, and says so once")
    func refused() async throws {
        let receiver = try Receiver { _, _ in Receiver.status(400) }
        let lines = Mutex<[String]>([])
        let log = Log { line in lines.withLock { $0.append(line.text) } }
        let sender = try Self.sender(to: receiver.url(""), log: log)
        sender.send(try Self.spans(Limits.spanBatch * 2))
        await sender.stop()
        #expect(sender.counts.dropped == UInt64(Limits.spanBatch * 2) && sender.counts.sent == 0)
        #expect(lines.withLock { $0.filter { $0.contains("status 400") }.count } == 1)
    }

    @Test("repeats a batch that was not taken, and says when it was")
    func repeated() async throws {
        let receiver = try Receiver { number, _ in number == 1 ? Receiver.status(503) : Receiver.ok }
        let lines = Mutex<[String]>([])
        let log = Log { line in lines.withLock { $0.append(line.text) } }
        let sender = try Self.sender(to: receiver.url(""), log: log)
        sender.send(try Self.spans(2))
        while sender.counts.sent == 0 { await Task.yield() }
        #expect(receiver.all.count == 2)
        await sender.stop()
        #expect(lines.withLock { $0.contains { $0.contains("again") } })
    }

    @Test("ends within its time if the receiver never answers, and counts what is lost")
    func silent() async throws {
        let receiver = try Receiver { _, _ in nil }
        let sender = try Self.sender(to: receiver.url(""))
        sender.send(try Self.spans(3))
        await sender.stop()
        #expect(sender.counts.sent == 0 && sender.counts.dropped == 3)
        sender.send(try Self.spans(1))
        #expect(sender.counts.dropped == 4)
        await sender.stop()
    }
}
