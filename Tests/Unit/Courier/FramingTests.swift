import PostriderCourier
import PostriderNotifications
import Testing

@Suite struct FramingTests {
    private let messages: [DeviceMessage] = [
        .hello(Samples.hello), .unknown, .register(topic: "a.b"), .acknowledge([1, 2, 3]),
        .goodbye(Samples.off),
    ]

    @Test("messages come out whole however the bytes were cut", arguments: [1, 2, 3, 5, 7, 64, 10_000])
    func cuts(_ size: Int) throws {
        let bytes = messages.flatMap { framed($0) }
        var framing = MessageFraming(maxMessageBytes: 1000)
        var received = [DeviceMessage]()
        for start in stride(from: 0, to: bytes.count, by: size) {
            framing.feed(bytes.span.extracting(start..<min(start + size, bytes.count)))
            while let message = try framing.next(DeviceMessage.self) { received.append(message) }
        }
        #expect(received == messages)
        #expect(framing.waitingByteCount == 0)
    }

    @Test("the bytes of messages are those that were framed, one byte fed at a time")
    func rawBytes() throws {
        let large = [UInt8](repeating: 7, count: 300)
        let bytes = framed(DeviceMessage.unknown) + [0, 0, 0, 1, 44] + large
        var framing = MessageFraming(maxMessageBytes: 300)
        var received = [[UInt8]]()
        for byte in bytes {
            framing.feed([byte].span)
            while let message = try framing.next() { received.append(message) }
        }
        #expect(received == [[], large])
    }

    @Test("a stream that is cut inside of a message is not at a boundary")
    func boundary() throws {
        var framing = MessageFraming(maxMessageBytes: 10)
        #expect(framing.waitingByteCount == 0)
        framing.feed([0, 0].span)
        #expect(try framing.next() == nil)
        #expect(framing.waitingByteCount > 0)
        framing.feed([0, 0, 1].span)
        #expect(try framing.next() == nil)
        #expect(framing.waitingByteCount > 0)
        framing.feed([9].span)
        #expect(try framing.next() == [9])
        #expect(framing.waitingByteCount == 0)
    }

    @Test("a bad prefix is refused before its message is there, and for good")
    func badPrefixes() throws {
        let table: [([UInt8], CourierError)] = [
            ([0, 0, 0, 0, 11], .messageTooLarge(bytes: 11, limit: 10)),
            ([0, 0xFF, 0xFF, 0xFF, 0xFF], .messageTooLarge(bytes: 0xFFFF_FFFF, limit: 10)),
            ([1, 0, 0, 0, 1], .compressed),
            ([2, 0, 0, 0, 1], .invalidPrefix),
        ]
        for (prefix, error) in table {
            var framing = MessageFraming(maxMessageBytes: 10)
            framing.feed(([0, 0, 0, 0, 0] + prefix).span)
            #expect(try framing.next() == [])
            for _ in 0..<2 {
                #expect(throws: error) { _ = try framing.next() }
                framing.feed([0, 0, 0, 0, 0].span)
            }
        }
    }

    @Test("a message that cannot be decoded ends the stream")
    func undecodable() throws {
        var framing = MessageFraming(maxMessageBytes: 10)
        framing.feed([0, 0, 0, 0, 1, 0x08, 0, 0, 0, 0, 0].span)
        #expect(throws: CourierError.truncated) { _ = try framing.next(DeviceMessage.self) }
        #expect(throws: CourierError.truncated) { _ = try framing.next(DeviceMessage.self) }
    }

    @Test("the data path's encoder agrees with the message, for every optional field and size of length")
    func deliveries() throws {
        for payload in [2, 60, 100, 127, 128, 4096, 5120, 16_384] {
            for collapse in [nil, "c", String(repeating: "é", count: 32)] {
                for pushType in PushType.allCases.map(Optional.some) + [nil] {
                    let notification = try Samples.notification(
                        payload: [UInt8](repeating: 0x20, count: payload),
                        pushType: pushType,
                        expiration: collapse == nil ? .nowOrNever : .at(Moment(milliseconds: .max)),
                        collapseIdentifier: collapse,
                        acceptedAt: pushType == nil ? -1 : 0
                    )
                    let number = UInt64(payload) << UInt64(payload % 50)
                    var bytes = [UInt8]()
                    let push = number % 3 == 0 ? 0 : number << 7
                    frameDeliver(notification, delivery: number, reportedAs: push, into: &bytes)
                    let message = RelayMessage.deliver(
                        Deliver(notification, delivery: number, reportedAs: push))
                    #expect(bytes == framed(message))
                    #expect(try RelayMessage(decoding: bytes.span.extracting(5..<bytes.count)) == message)
                }
            }
        }
    }

    @Test("deliveries are appended to what is there, without growing a buffer that has room")
    func appended() throws {
        let notification = try Samples.notification()
        var one = [UInt8]()
        frameDeliver(notification, delivery: 1, into: &one)
        var many = [UInt8]()
        many.reserveCapacity(one.count * 3)
        let capacity = many.capacity
        for _ in 0..<3 { frameDeliver(notification, delivery: 1, into: &many) }
        #expect(many == one + one + one)
        #expect(many.capacity == capacity)
    }
}
