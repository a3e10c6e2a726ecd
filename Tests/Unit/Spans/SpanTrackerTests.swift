import PostriderNotifications
import PostriderSpans
import RelayFixtures
import Testing

@Suite("The spans of pushes")
struct SpanTrackerTests {
    private static let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    private static let start = Samples.now.milliseconds

    private static func push(
        _ row: Int64 = 7, _ expiration: Expiration = .at(.last), parent: String? = parent, isNew: Bool = true
    ) -> SpanPush {
        SpanPush(queued(row, expiration, parent: parent), isNew: isNew)
    }

    private static func queued(
        _ row: Int64, _ expiration: Expiration = .at(.last), parent: String? = parent
    ) -> QueuedNotification {
        let it = Samples.notification(UInt64(row))
        return QueuedNotification(
            row: QueueRow(row),
            notification: Notification(
                identity: it.identity, device: it.device, registration: it.registration, topic: it.topic,
                pushType: it.pushType, priority: it.priority, expiration: expiration, collapseIdentifier: nil,
                payload: it.payload, acceptedAt: Samples.now,
                traceContext: parent.flatMap { TraceContext(parent: $0) }))
    }

    private static func moment(_ milliseconds: Int64) -> Moment {
        Moment(milliseconds: start + milliseconds)
    }

    private static func event(_ kind: TraceEvent.Kind, _ milliseconds: Int64, _ row: Int64 = 7) -> TraceRecord
    {
        .event(TraceEvent(kind, at: moment(milliseconds), row: QueueRow(row)))
    }

    private static func report(
        _ kind: TraceEvent.Kind, _ milliseconds: Int64, took: UInt64 = 0, _ row: Int64 = 7,
        by device: DeviceIdentity = Samples.device, text: String = ""
    ) -> TraceRecord {
        .report(
            TraceReport(
                kind, at: moment(milliseconds + 50), onDevice: moment(milliseconds),
                of: Samples.notification(7).identity, row: QueueRow(row), by: device, tookMilliseconds: took,
                text: text))
    }

    /// Each span as a line: its kind, begin, end and failure.
    private static func lines(_ spans: [PushSpan]) -> [String] {
        spans.map { span in
            let times = "\(span.start.milliseconds - start)-\(span.end.milliseconds - start)"
            return "\(span.kind.rawValue) \(times)" + (span.failure.map { ": \($0)" } ?? "")
        }
    }

    private static func spans(_ records: [TraceRecord], of push: SpanPush = push()) -> [PushSpan] {
        var tracker = SpanTracker(node: 1)
        tracker.expect([push])
        return tracker.take(records)
    }

    @Test("are those of its life, each a part of the one before")
    func life() throws {
        let spans = Self.spans([
            .acceptance(TraceAcceptance(Self.queued(7), at: Self.moment(1))), Self.event(.sent, 2),
            Self.event(.stored, 5), Self.event(.acknowledged, 9), Self.report(.handedOver, 40, took: 20),
        ])
        #expect(
            Self.lines(spans) == [
                "accept 0-5", "commit 1-5", "deliver 2-9", "hand over 9-20", "observer 20-40",
            ])
        try #require(spans.count == 5)
        #expect(spans[0].parent == 0xb7ad_6b71_6920_3331)
        #expect(spans[1].parent == spans[0].identifier && spans[2].parent == spans[0].identifier)
        #expect(spans[3].parent == spans[2].identifier && spans[4].parent == spans[3].identifier)
        #expect(Set(spans.map(\.identifier)).count == 5 && Set(spans.map(\.trace)).count == 1)
        #expect(
            Self.spans([Self.event(.stored, 5, 8)], of: Self.push(8)).first?.identifier != spans[0].identifier
        )
    }

    @Test(
        "end with the push", arguments: [TraceEvent.Kind.expired, .discarded, .dropped, .replaced, .merged])
    func ends(_ kind: TraceEvent.Kind) {
        let failure = kind == .replaced || kind == .merged ? "" : ": \(kind)"
        let records = [Self.event(.sent, 2), Self.event(kind, 4), Self.event(.stored, 5)]
        #expect(Self.lines(Self.spans(records)) == ["accept 0-4", "deliver 2-4\(failure)"])
    }

    @Test("are several if it is sent or handled several times")
    func attempts() {
        let spans = Self.spans([
            Self.event(.stored, 1), Self.event(.sent, 2), Self.event(.returned, 3), Self.event(.sent, 4),
            Self.event(.acknowledged, 6), Self.report(.begun, 10),
            Self.report(.failed, 14, text: "exit code 3"),
            Self.report(.begun, 20), Self.report(.done, 25), Self.report(.done, 30),
        ])
        #expect(
            Self.lines(spans) == [
                "accept 0-1", "commit 0-1", "deliver 2-3: the connection was lost", "deliver 4-6",
                "hand over 6-10", "observer 10-14: exit code 3", "observer 20-25",
            ])
        #expect(Set(spans.map(\.identifier)).count == 7)
        let failed = Self.spans([Self.report(.failed, 14, took: 9, text: "no")])
        #expect(Self.lines(failed) == ["hand over 5-5", "observer 5-14: no"])
        #expect(spans[5].parent == spans[4].identifier && spans[6].parent == spans[4].identifier)
        #expect(spans[4].parent == spans[3].identifier)
    }

    @Test("are answered when it is sent, if it must not be stored")
    func nowOrNever() {
        let records = [Self.event(.sent, 3), Self.event(.acknowledged, 4)]
        #expect(
            Self.lines(Self.spans(records, of: Self.push(7, .nowOrNever))) == ["accept 0-3", "deliver 3-4"])
    }

    @Test("go on after a restart of the relay, with the identifiers of before")
    func restart() throws {
        let before = Self.spans([Self.event(.stored, 5)])
        let after = Self.spans(
            [Self.event(.sent, 20), Self.event(.acknowledged, 30)], of: Self.push(isNew: false))
        #expect(Self.lines(after) == ["deliver 20-30"])
        #expect(try #require(after.first).parent == before[0].identifier)
    }

    @Test("have no negative length, whatever a device's clock and its figures say")
    func clocks() {
        let spans = Self.spans([
            Self.event(.sent, 2), Self.event(.acknowledged, 9), Self.report(.handedOver, -500, took: .max),
        ])
        #expect(spans.count == 4 && spans.allSatisfy { $0.start <= $0.end })
    }

    @Test("are none of a push that is not followed, and nothing of what another device reports")
    func others() {
        #expect(Self.spans([Self.event(.stored, 5, 8), Self.report(.handedOver, 5, 9)]).isEmpty)
        let other = DeviceIdentity(high: 99, low: 1)
        #expect(Self.spans([Self.report(.handedOver, 5, by: other)]).isEmpty)
    }

    @Test("are followed up to a bound; then the oldest push is forgotten")
    func bounds() {
        var tracker = SpanTracker(node: 1)
        tracker.expect((1...Int64(Limits.spanPushes) + 1).map { Self.push($0) })
        #expect(tracker.take([Self.event(.stored, 5, 1)]).isEmpty)
        #expect(tracker.take([Self.event(.stored, 5, 2)]).count == 2)
    }

    @Test("belong to a trace of its own if its provider has none")
    func ownTrace() throws {
        let one = try #require(Self.spans([Self.event(.stored, 5)], of: Self.push(parent: nil)).first)
        let other = try #require(Self.spans([Self.event(.stored, 5)]).first)
        #expect(one.parent == 0 && one.trace != other.trace)
    }

    private static let broadcast = Broadcast(
        identity: NotificationIdentity(high: 1, low: 2), channel: ChannelIdentity(high: 3, low: 4),
        topic: Samples.topic, payload: [], priority: .immediate, expiration: .nowOrNever,
        pushType: .liveactivity, acceptedAt: Samples.now, traceContext: TraceContext(parent: parent))

    private static func fanOut(
        _ kind: TraceEvent.Kind, _ devices: Int, ofShard shard: Int, _ milliseconds: Int64
    ) -> TraceRecord {
        .event(
            TraceEvent(
                kind, at: moment(milliseconds), row: QueueRow(7),
                detail: TraceEvent.count(devices, ofShard: shard)))
    }

    @Test("of a broadcast are its acceptance, and what each shard has sent, in any order")
    func broadcasts() throws {
        let wanted = SpanPush(Self.broadcast, row: QueueRow(7))
        let acceptance = TraceAcceptance(
            Self.broadcast, in: .production, by: .certificate, row: QueueRow(7), at: Self.moment(3))
        let records = [
            Self.fanOut(.broadcast, 8, ofShard: 1, 4), .acceptance(acceptance),
            Self.fanOut(.broadcast, 9, ofShard: 0, 5), Self.fanOut(.skipped, 2, ofShard: 0, 5),
            Self.report(.handedOver, 9),
        ]
        let spans = Self.spans(records, of: wanted)
        #expect(
            Self.lines(spans) == [
                "deliver 0-4", "accept 0-3", "deliver 0-5",
                "deliver 0-5: too much waited for these devices",
            ])
        #expect(spans.map(\.devices) == [8, nil, 9, 2])
        try #require(spans.count == 4)
        #expect(spans[1].parent == 0xb7ad_6b71_6920_3331)
        #expect([spans[0], spans[2], spans[3]].allSatisfy { $0.parent == spans[1].identifier })
        #expect(Set(spans.map(\.identifier)).count == 4 && Set(spans.map(\.trace)).count == 1)
        var other = SpanTracker(node: 2)
        other.expect([wanted])
        let elsewhere = other.take([records[0]])
        #expect(elsewhere.map(\.parent) == [spans[1].identifier])
        #expect(elsewhere.first?.identifier != spans[0].identifier)
    }

    @Test("are chosen by the flag of the trace context, or else by the sample")
    func choice() throws {
        let unsampled = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
        for sample in [nil, 1, 1_000_000] as [Int?] {
            let choice = SpanChoice(sample: sample)
            #expect(choice.includes(Self.queued(7)))
            #expect(!choice.includes(Self.queued(7, parent: unsampled)))
            #expect(choice.includes(Self.queued(7, parent: nil)) == (sample == 1))
        }
        let some = (1...1000).count { SpanChoice(sample: 10).includes(Self.queued(Int64($0), parent: nil)) }
        #expect(70...130 ~= some)
    }
}
