import PostriderCourier
import PostriderNotifications
import Testing

@Suite("The outline of a delivery")
struct DeliveryOutlineTests {
    private static let deliver = Deliver(
        delivery: 300, identity: Samples.identity, topic: "a.b", payload: Array(#"{"aps":{}}"#.utf8),
        priority: .immediate, expiration: .nowOrNever, collapseIdentifier: "c", pushType: "alert",
        acceptedAt: Moment(milliseconds: 1))

    @Test("says what the message says", arguments: [deliver, Samples.broadcast])
    func outline(_ deliver: Deliver) throws {
        let isBroadcast = deliver.channel != nil
        let message: RelayMessage = isBroadcast ? .broadcast(deliver) : .deliver(deliver)
        var bytes: [UInt8] = []
        message.encode(into: &bytes)
        let outline = try #require(try DeliverView(relayMessage: bytes.span))
        #expect(outline.delivery == deliver.delivery)
        #expect(outline.identity == deliver.identity)
        #expect(Array(bytes[outline.payload]) == deliver.payload)
        #expect(String(decoding: bytes[outline.topic], as: UTF8.self) == deliver.topic)
        #expect(outline.isBroadcast == isBroadcast)
    }

    @Test("of another message is none", arguments: [.welcome(Samples.welcome), .unknown] as [RelayMessage])
    func others(_ message: RelayMessage) throws {
        var bytes: [UInt8] = []
        message.encode(into: &bytes)
        #expect(try DeliverView(relayMessage: bytes.span) == nil)
    }

    @Test("of a delivery without a whole identity is an error")
    func identity() {
        let (none, short): ([UInt8], [UInt8]) = ([0x2A, 2, 8, 1], [0x2A, 5, 8, 1, 0x12, 1, 9])
        for bytes in [none, short] {
            #expect(throws: CourierError.wrongLength(field: 2, expected: 16)) {
                _ = try DeliverView(relayMessage: bytes.span) == nil
            }
        }
    }

    @Test(
        "has its counterpart in acknowledgements, which are the bytes of their message",
        arguments: [[1], [1, 127, 128, 300], Array(1...64)] as [[UInt64]])
    func acknowledgements(_ deliveries: [UInt64]) {
        var (lean, usual): ([UInt8], [UInt8]) = ([], [])
        MessageFraming.frame(acknowledging: deliveries, into: &lean)
        MessageFraming.frame(DeviceMessage.acknowledge(deliveries), into: &usual)
        #expect(lean == usual)
    }

    @Test(
        "is found in messages that are taken where they lie, however the bytes were cut",
        arguments: [1, 3, 64, 500])
    func takingAll(_ size: Int) throws {
        var bytes: [UInt8] = []
        let messages: [RelayMessage] = [
            .deliver(Self.deliver), .welcome(Samples.welcome), .unknown, .deliver(Self.deliver),
        ]
        for message in messages { MessageFraming.frame(message, into: &bytes) }
        var framing = MessageFraming(maxMessageBytes: 1000)
        var received: [RelayMessage] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            let part = bytes.span.extracting(start..<min(start + size, bytes.count))
            try framing.takeAll(part) { message throws(CourierError) in
                let message = try RelayMessage(decoding: message)
                received.append(message)
            }
        }
        #expect(received == messages)
        #expect(framing.waitingByteCount == 0)
    }

    @Test("ends with the first error, which stays")
    func errors() throws {
        let bytes = framed(DeviceMessage.unknown) + [1, 0, 0, 0, 0] + framed(DeviceMessage.unknown)
        var framing = MessageFraming(maxMessageBytes: 10)
        var count = 0
        for part in [bytes, framed(DeviceMessage.unknown)] {
            #expect(throws: CourierError.compressed) {
                try framing.takeAll(part.span) { _ throws(CourierError) in count += 1 }
            }
        }
        #expect(count == 1)
        #expect(throws: CourierError.compressed) { _ = try framing.next() }
    }
}
