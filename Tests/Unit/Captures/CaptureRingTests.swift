import PostriderCaptures
import PostriderNotifications
import Testing

/// Makes a captured request.
func makeCapture(
    topic: String = "com.example.app", token: String = "AA01", id: String = "A",
    at milliseconds: Int64 = 1000,
    body: String = #"{"aps":{"alert":"Tea"}}"#
) -> Capture {
    Capture(
        at: Moment(milliseconds: milliseconds), environment: .production,
        connection: Capture.Connection(number: 2, peer: "127.0.0.1:4711", alpn: "h2"),
        stream: Capture.Stream(number: 5),
        headers: [
            Capture.Field(name: ":path", value: "/3/device/\(token)"),
            Capture.Field(name: "apns-topic", value: topic),
        ],
        claims: nil, body: Array(body.utf8), bodyByteCount: body.utf8.count, identity: id)
}

@Suite("The latest requests")
struct CaptureRingTests {
    @Test("are as many as there is room for, and the oldest goes first")
    func count() {
        var ring = CaptureRing(most: 3)
        for number in 1...10 {
            #expect(ring.add(makeCapture()) == number)
            #expect(ring.count == min(number, 3))
        }
        #expect(ring.captures(CaptureFilter()).map(\.number) == [8, 9, 10])
        #expect(ring.droppedCount == 7 && ring.lastNumber == 10)
    }

    @Test("go where they have too many bytes together")
    func bytes() {
        let body = "{\"a\":\"" + String(repeating: "x", count: 1000) + "\"}"
        var ring = CaptureRing(most: 100, bytes: 5000)
        for _ in 1...10 { _ = ring.add(makeCapture(body: body)) }
        #expect((2...4).contains(ring.count))
        #expect(ring.captures(CaptureFilter()).last?.number == 10)
        #expect(ring.count + ring.droppedCount == 10)
    }

    @Test("are found by their numbers, and those that are gone are not changed")
    func updates() {
        var ring = CaptureRing(most: 2)
        for _ in 1...5 { _ = ring.add(makeCapture()) }
        for number in [1, 3, 4, 6] { ring.update(number) { $0.outcome = .refused } }
        #expect(ring.captures(CaptureFilter()).map(\.outcome) == [.refused, .open])
    }

    @Test("are forgotten, and their numbers are not given again")
    func forgetting() {
        var ring = CaptureRing()
        for _ in 1...3 { _ = ring.add(makeCapture()) }
        ring.removeAll()
        #expect(ring.captures(CaptureFilter()).isEmpty)
        #expect(ring.add(makeCapture()) == 4)
        ring.update(4) { $0.outcome = .lost }
        #expect(ring.captures(CaptureFilter()).map(\.outcome) == [.lost])
    }

    private static let filterCases: [(String, [Int])] = [
        ("", [1, 2, 3, 4]),
        ("topic=com.example.app", [1, 3]),
        ("topic=com.example%2Eapp", [1, 3]),
        ("token=bb", [2, 4]),
        ("token=BB02", [2]),
        ("status=410", [3]),
        ("outcome=open", [4]),
        ("outcome=captured", [1, 2]),
        ("id=c", [3]),
        ("since=1003", [3, 4]),
        // The fourth request has no outcome yet: a reader that continued after it would miss its outcome.
        ("after=2", [3]),
        ("after=0", [1, 2, 3]),
        ("last=2", [3, 4]),
        ("after=1&last=2", [2, 3]),
        ("token=aa&since=1002", [3]),
    ]

    @Test(
        "are asked for by topic, token, status, outcome, apns-id, time and number",
        arguments: filterCases.indices
    )
    func filters(at index: Int) throws {
        var ring = CaptureRing()
        _ = ring.add(makeCapture(token: "AA01", id: "A", at: 1001))
        _ = ring.add(makeCapture(topic: "b", token: "BB02", id: "B", at: 1002))
        _ = ring.add(makeCapture(token: "aa03", id: "C", at: 1003))
        _ = ring.add(makeCapture(topic: "b", token: "bb04", id: "D", at: 1004))
        for number in 1...2 { ring.update(number) { $0.outcome = .captured } }
        ring.update(3) {
            $0.answer = Capture.Answer(at: Moment(milliseconds: 1003), status: 410, reason: "Unregistered")
            $0.outcome = .refused
        }
        let query = try CaptureQuery(Self.filterCases[index].0)
        #expect(ring.captures(query.filter, last: query.last).map(\.number) == Self.filterCases[index].1)
    }

    private static let mistakeCases: [(String, String)] = [
        ("topc=a", "not with 'topc'"),
        ("topic", "'topic' needs a value"),
        ("topic=a&topic=b", "'topic' is given twice"),
        ("token=xyz", "'token' is a device token or its first digits, not 'xyz'"),
        ("status=abc", "'status' is a whole number from 100 to 599, not 'abc'"),
        ("outcome=good", "'outcome' is one of open, accepted"),
        ("wait=5", "'wait' is a time such as 5s or 250ms, 60s at most, not '5'"),
        ("wait=61s", "60s at most"),
        ("count=2", "write 'wait=5s' beside it"),
        ("wait=1s&count=3&last=2", "'count' is 3, and the answer holds 2 at most"),
        ("topic=%zz", "'topic' needs a value"),
    ]

    @Test("refuse a question that is wrong, with what to do", arguments: mistakeCases.indices)
    func mistakes(at index: Int) {
        let (query, sentence) = Self.mistakeCases[index]
        let mistake = #expect(throws: CaptureQuery.Mistake.self) { try CaptureQuery(query) }
        #expect(mistake?.sentence.contains(sentence) == true, "\(mistake?.sentence ?? "")")
    }

    @Test("are complete when as many as one waits for are decided")
    func completeness() throws {
        let query = try CaptureQuery("wait=250ms&count=2")
        #expect(query.waitMilliseconds == 250)
        var ring = CaptureRing()
        for _ in 1...2 { _ = ring.add(makeCapture()) }
        ring.update(1) { $0.outcome = .captured }
        #expect(!ring.isComplete(query))
        ring.update(2) { $0.outcome = .captured }
        #expect(ring.isComplete(query))
    }

    @Test("learn from the trace what became of them, also of two with the same apns-id")
    func fates() throws {
        let identity = try #require(NotificationIdentity("6f0c2e5a-4c1b-4b6e-9d6f-0a3f5e7c9b1d"))
        var ring = CaptureRing()
        for number in 1...3 {
            _ = ring.add(makeCapture(id: "6F0C2E5A-4C1B-4B6E-9D6F-0A3F5E7C9B1D"))
            ring.expectLife(of: number)
            // The third request was refused: it has no further life.
            ring.update(number) { $0.outcome = number == 3 ? .refused : .accepted }
        }
        func acceptance(_ row: Int64) throws -> TraceRecord {
            .acceptance(
                TraceAcceptance(
                    row: QueueRow(row), moment: Moment(milliseconds: 1), identity: identity,
                    uniqueIdentity: nil, target: .channel(ChannelIdentity(high: 1, low: 2), .production),
                    topic: try #require(Topic("com.example.app")), pushType: .alert, priority: .immediate,
                    expiration: .nowOrNever, collapses: false, payloadBytes: 1, proof: nil))
        }
        func event(_ kind: TraceEvent.Kind, _ row: Int64) -> TraceRecord {
            .event(TraceEvent(kind, at: Moment(milliseconds: 7), row: QueueRow(row)))
        }
        ring.note([try acceptance(11), event(.sent, 11), try acceptance(12), event(.stored, 12)])
        ring.note([event(.acknowledged, 11), event(.sent, 13)])
        let events = ring.captures(CaptureFilter()).map { $0.events.map(\.kind) }
        #expect(events == [["sent", "acknowledged"], ["stored"], []])
    }
}
