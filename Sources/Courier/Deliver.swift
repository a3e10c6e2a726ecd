public import Notifications

/// One notification on its way to a device, or from an agent to an app (`Deliver`). A broadcast comes to devices in the
/// same shape, without a number: it is not acknowledged.
public struct Deliver: CourierMessage {
    /// The number of the delivery on its stream, from 1, rising by one.
    public let delivery: UInt64
    /// Which notification it is; the device drops a second one of the same identity and topic.
    public let identity: NotificationIdentity
    /// The app.
    public let topic: String
    /// The JSON object as the provider sent it.
    public let payload: [UInt8]
    /// How urgent it is; a value that this version does not know counts as immediate.
    public let priority: Priority
    /// How long it is worth showing. Moments up to the epoch have no spelling of their own: they become now
    /// or never.
    public let expiration: Expiration
    /// The collapse identifier, nil for none.
    public let collapseIdentifier: String?
    /// The push type as the provider wrote it, nil for none. Text, so that one of a later version comes
    /// through.
    public let pushType: String?
    /// When the relay admitted it.
    public let acceptedAt: Moment
    /// The channel that it was broadcast to, nil for none.
    public let channel: ChannelIdentity?
    /// Whether the relay wants a ``Report`` of what becomes of it.
    public let wantsReport: Bool

    /// A delivery from its parts.
    public init(
        delivery: UInt64,
        identity: NotificationIdentity,
        topic: String,
        payload: [UInt8],
        priority: Priority,
        expiration: Expiration,
        collapseIdentifier: String?,
        pushType: String?,
        acceptedAt: Moment,
        channel: ChannelIdentity? = nil,
        wantsReport: Bool = false
    ) {
        self.delivery = delivery
        self.identity = identity
        self.topic = topic
        self.payload = payload
        self.priority = priority
        self.expiration = expiration
        self.collapseIdentifier = collapseIdentifier
        self.pushType = pushType
        self.acceptedAt = acceptedAt
        self.channel = channel
        self.wantsReport = wantsReport
    }

    /// The message that carries a broadcast to every subscriber.
    public init(_ broadcast: Broadcast) {
        self.init(
            delivery: 0,
            identity: broadcast.identity,
            topic: broadcast.topic.text,
            payload: broadcast.payload,
            priority: broadcast.priority,
            expiration: broadcast.expiration,
            collapseIdentifier: nil,
            pushType: broadcast.pushType.rawValue,
            acceptedAt: broadcast.acceptedAt,
            channel: broadcast.channel
        )
    }

    /// The delivery of a notification. Payload and texts are shared, not copied.
    public init(_ notification: Notification, delivery: UInt64, wantsReport: Bool = false) {
        self.init(
            delivery: delivery,
            identity: notification.identity,
            topic: notification.topic.text,
            payload: notification.payload,
            priority: notification.priority,
            expiration: notification.expiration,
            collapseIdentifier: notification.collapseIdentifier,
            pushType: notification.pushType?.rawValue,
            acceptedAt: notification.acceptedAt,
            wantsReport: wantsReport
        )
    }

    /// The message that these bytes are.
    public init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var delivery: UInt64 = 0
        var identity = [UInt8]()
        var topic = ""
        var payload = [UInt8]()
        var priority = Priority.immediate
        var (expiration, acceptedAt) = (Int64(0), Int64(0))
        var (collapseIdentifier, pushType) = ("", "")
        var channel: ChannelIdentity?
        var wantsReport = false
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: delivery = try field.uint64()
            case 2: identity = try field.bytes(in: bytes)
            case 3: topic = try field.text(in: bytes)
            case 4: payload = try field.bytes(in: bytes)
            case 5:
                priority = UInt8(exactly: try field.uint32()).flatMap(Priority.init(rawValue:)) ?? .immediate
            case 6: expiration = try field.int64()
            case 7: collapseIdentifier = try field.text(in: bytes)
            case 8: pushType = try field.text(in: bytes)
            case 9: acceptedAt = try field.int64()
            case 10: channel = try field.channel(in: bytes)
            case 11: wantsReport = try field.uint64() != 0
            default: break
            }
        }
        guard let identity = NotificationIdentity(bytes: identity) else {
            throw .wrongLength(field: 2, expected: Self.identityByteCount)
        }
        self.init(
            delivery: delivery,
            identity: identity,
            topic: topic,
            payload: payload,
            priority: priority,
            expiration: expiration <= 0 ? .nowOrNever : .at(Moment(milliseconds: expiration)),
            collapseIdentifier: collapseIdentifier.isEmpty ? nil : collapseIdentifier,
            pushType: pushType.isEmpty ? nil : pushType,
            acceptedAt: Moment(milliseconds: acceptedAt),
            channel: channel,
            wantsReport: wantsReport
        )
    }

    /// Appends the message.
    public func encode(into output: inout [UInt8]) {
        output.append(addingCapacity: byteCount) { encode(into: &$0) }
    }

    /// Appends the message where ``byteCount`` bytes are free.
    func encode(into output: inout OutputSpan<UInt8>) {
        output.appendField(1, delivery)
        output.appendVarint(2 << 3 | 2)
        output.appendVarint(UInt64(Self.identityByteCount))
        output.appendBigEndian(identity.high, count: 8)
        output.appendBigEndian(identity.low, count: 8)
        output.appendField(3, topic.utf8.span)
        output.appendField(4, payload.span)
        output.appendField(5, UInt64(priority.rawValue))
        output.appendField(6, expirationMilliseconds)
        if let collapseIdentifier { output.appendField(7, collapseIdentifier.utf8.span) }
        if let pushType { output.appendField(8, pushType.utf8.span) }
        output.appendField(9, acceptedAtMilliseconds)
        if let channel {
            output.appendVarint(10 << 3 | 2)
            output.appendVarint(UInt64(ChannelIdentity.byteCount))
            output.appendBigEndian(channel.high, count: 8)
            output.appendBigEndian(channel.low, count: 8)
        }
        output.appendField(11, wantsReport ? 1 : 0)
    }

    /// The number of bytes that ``encode(into:)`` appends.
    var byteCount: Int {
        ProtobufSize.field(delivery)
            + ProtobufSize.field(length: Self.identityByteCount)
            + ProtobufSize.field(length: topic.utf8.count)
            + ProtobufSize.field(length: payload.count)
            + ProtobufSize.field(UInt64(priority.rawValue))
            + ProtobufSize.field(expirationMilliseconds)
            + ProtobufSize.field(length: collapseIdentifier?.utf8.count ?? 0)
            + ProtobufSize.field(length: pushType?.utf8.count ?? 0)
            + ProtobufSize.field(acceptedAtMilliseconds)
            + ProtobufSize.field(length: channel == nil ? 0 : ChannelIdentity.byteCount)
            + ProtobufSize.field(wantsReport ? 1 : 0)
    }

    private static let identityByteCount = NotificationIdentity.byteCount

    private var expirationMilliseconds: UInt64 {
        switch expiration {
        case .nowOrNever: 0
        case .at(let moment): UInt64(max(moment.milliseconds, 0))
        }
    }

    private var acceptedAtMilliseconds: UInt64 { UInt64(bitPattern: acceptedAt.milliseconds) }
}
