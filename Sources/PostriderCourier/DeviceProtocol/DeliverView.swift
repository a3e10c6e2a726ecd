public import PostriderNotifications

/// A view of an encoded delivery or broadcast: its numbers, and the ranges of its texts. It copies nothing. The load
/// generator uses it; other code decodes a ``RelayMessage``.
public struct DeliverView: Hashable, Sendable {
    /// The number of the delivery on its stream; 0 for a broadcast.
    public let delivery: UInt64
    /// The identity of the notification.
    public let identity: NotificationIdentity
    /// The range of the topic in the message.
    public let topic: Range<Int>
    /// The range of the payload in the message.
    public let payload: Range<Int>
    /// Whether the notification was broadcast to a channel, and is therefore not acknowledged.
    public let isBroadcast: Bool

    /// Reads a view of the `RelayMessage` in these bytes; nil if it is neither a delivery nor a broadcast.
    public init?(relayMessage bytes: Span<UInt8>) throws(CourierError) {
        var outer = ProtobufReader()
        guard let kind = try outer.next(in: bytes),
            kind.number == RelayMessage.deliverField || kind.number == 9
        else { return nil }
        let body = try kind.range()
        let content = bytes.extracting(body)
        var reader = ProtobufReader()
        var delivery: UInt64 = 0
        var words: (high: UInt64, low: UInt64)?
        var (topic, payload) = (0..<0, 0..<0)
        while let field = try reader.next(in: content) {
            switch field.number {
            case 1: delivery = try field.uint64()
            case 2: words = Self.words(content.extracting(try field.range()))
            case 3: topic = try field.range()
            case 4: payload = try field.range()
            default: break
            }
        }
        guard let words else { throw .wrongLength(field: 2, expected: NotificationIdentity.byteCount) }
        self.delivery = delivery
        identity = NotificationIdentity(high: words.high, low: words.low)
        self.topic = topic.lowerBound + body.lowerBound..<topic.upperBound + body.lowerBound
        self.payload = payload.lowerBound + body.lowerBound..<payload.upperBound + body.lowerBound
        isBroadcast = kind.number == 9
    }

    private static func words(_ bytes: Span<UInt8>) -> (high: UInt64, low: UInt64)? {
        guard bytes.count == NotificationIdentity.byteCount else { return nil }
        var (high, low) = (UInt64(0), UInt64(0))
        for index in 0..<8 {
            high = high << 8 | UInt64(bytes[index])
            low = low << 8 | UInt64(bytes[8 + index])
        }
        return (high, low)
    }
}

extension MessageFraming {
    /// Appends the framed `DeviceMessage` that acknowledges these deliveries, without creating the message.
    public static func frame(acknowledging deliveries: [UInt64], into output: inout [UInt8]) {
        let packed = deliveries.reduce(0) { $0 + ProtobufSize.varint($1) }
        let list = 1 + ProtobufSize.varint(UInt64(packed)) + packed
        let message = 1 + ProtobufSize.varint(UInt64(list)) + list
        output.append(addingCapacity: prefixByteCount + message) { bytes in
            bytes.append(0)
            bytes.appendBigEndian(UInt64(message), count: prefixByteCount - 1)
            bytes.appendVarint(4 << 3 | 2)
            bytes.appendVarint(UInt64(list))
            bytes.appendVarint(1 << 3 | 2)
            bytes.appendVarint(UInt64(packed))
            for delivery in deliveries { bytes.appendVarint(delivery) }
        }
    }
}
