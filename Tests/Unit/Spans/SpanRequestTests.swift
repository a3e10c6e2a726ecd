import PostriderCourier
import PostriderNotifications
import RelayFixtures
import Testing

@testable import PostriderSpans

@Suite("A request to an OTLP receiver")
struct SpanRequestTests {
    /// The fields of a message: their numbers and contents, as texts.
    private static func fields(_ message: [UInt8]) throws -> [(UInt64, [UInt8])] {
        let bytes = message.span
        var reader = ProtobufReader()
        var fields: [(UInt64, [UInt8])] = []
        while let field = try reader.next(in: bytes) {
            fields.append((UInt64(field.number), (try? field.bytes(in: bytes)) ?? []))
        }
        return fields
    }

    private static func content(_ number: UInt64, of bytes: [UInt8]) throws -> [UInt8] {
        try #require(try fields(bytes).first { $0.0 == number }).1
    }

    @Test("has the spans of a relay as OpenTelemetry's schema has them, with which end-to-end tests read it")
    func bytes() throws {
        let context = TraceContext(
            parent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", state: "a=1")
        let it = Samples.notification(1)
        let notification = Notification(
            identity: it.identity, device: it.device, registration: it.registration, topic: it.topic,
            pushType: nil, priority: .low, expiration: it.expiration, collapseIdentifier: nil, payload: [],
            acceptedAt: it.acceptedAt, traceContext: context)
        let push = SpanPush(QueuedNotification(row: QueueRow(1), notification: notification), isNew: true)
        let span = PushSpan(
            kind: .handOver, trace: push.trace, identifier: 0x0102_0304_0506_0708, parent: 0,
            start: Samples.now, end: Samples.now.advanced(byMilliseconds: 1), failure: "no", devices: nil,
            push: push)
        let request = SpanRequest.bytes([span, span], of: SpanOrigin(version: "1.2", host: "h"))
        let scope = try Self.content(2, of: try Self.content(1, of: request))
        let spans = try Self.fields(scope).filter { $0.0 == 2 }.map(\.1)
        try #require(spans.count == 2 && spans[0] == spans[1])
        let fields = try Self.fields(spans[0])
        #expect(fields.map(\.0) == [1, 2, 3, 5, 6, 7, 8, 9, 9, 9, 9, 9, 15])
        #expect(fields[0].1 == Hexadecimal.bytes("0af7651916cd43dd8448eb211c80319c"))
        #expect(fields[1].1 == [1, 2, 3, 4, 5, 6, 7, 8])
        #expect(fields[2].1 == Array("a=1".utf8) && fields[3].1 == Array("hand over com.example.app".utf8))
        #expect(Hexadecimal.text(fields[12].1) == "12026e6f1802")
    }
}
