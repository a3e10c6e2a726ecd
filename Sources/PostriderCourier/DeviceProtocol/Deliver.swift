public import PostriderNotifications

/// A notification on its way to a device, or from an agent to an app (`Deliver`). A broadcast has the same format,
/// with delivery number 0, and is not acknowledged.
public struct Deliver: CourierMessage {
    /// The number of the delivery on its stream. It starts at 1 and rises by one.
    public let delivery: UInt64
    /// The identity of the notification. From a relay it is the `apns-id`, which a provider may use more than once.
    /// From an agent to an app it is unique within the topic.
    public let identity: NotificationIdentity
    /// The topic of the app.
    public let topic: String
    /// The payload: the JSON object as the provider sent it.
    public let payload: [UInt8]
    /// The priority; a value that this version does not know counts as immediate.
    public let priority: Priority
    /// Until when the notification is worth delivering. The encoding has no moments before 1970: they become "now" or
    /// "never".
    public let expiration: Expiration
    /// The collapse identifier; nil for none.
    public let collapseIdentifier: String?
    /// The push type as the provider wrote it; nil for none. It is a text, so that types of a later version are
    /// passed on.
    public let pushType: String?
    /// When the relay accepted the notification.
    public let acceptedAt: Moment
    /// The channel that it was broadcast to; nil for none.
    public let channel: ChannelIdentity?
    /// Whether the relay wants a ``Report`` about the notification.
    public let wantsReport: Bool
    /// The `apns-id`, if ``identity`` differs from it because the app got a notification with the same `apns-id`
    /// before; nil otherwise.
    public let replacedIdentity: NotificationIdentity?
    /// The relay's number for the push, which a ``Report`` repeats; 0 for none.
    public let push: UInt64
    /// On the way from an agent to an app: when the device had stored the notification. nil on the way to the device,
    /// and if the agent is of an earlier version.
    public let receivedAt: Moment?
    /// The trace context of the provider; nil if it sent none.
    public let traceContext: TraceContext?

    /// Creates a delivery from its parts.
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
        wantsReport: Bool = false,
        replacedIdentity: NotificationIdentity? = nil,
        push: UInt64 = 0,
        receivedAt: Moment? = nil,
        traceContext: TraceContext? = nil
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
        self.replacedIdentity = replacedIdentity
        self.push = push
        self.receivedAt = receivedAt
        self.traceContext = traceContext
    }

    /// The `apns-id`, which the provider or the relay has chosen.
    public var apnsIdentity: NotificationIdentity { replacedIdentity ?? identity }

    /// Creates the message that carries a broadcast to every subscriber.
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

    /// Creates the delivery of a notification. Payload and texts are shared, not copied.
    ///
    /// - Parameter push: the relay's number for the push if the relay wants a ``Report``; otherwise 0.
    public init(_ notification: Notification, delivery: UInt64, reportedAs push: UInt64 = 0) {
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
            wantsReport: push != 0,
            push: push,
            traceContext: notification.traceContext
        )
    }

    /// Decodes the message.
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
        var replacedIdentity = [UInt8]()
        var push: UInt64 = 0
        var receivedAt: Moment?
        var traceContext: TraceContext?
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
            case 12: replacedIdentity = try field.bytes(in: bytes)
            case 13: push = try field.uint64()
            case 14: receivedAt = Moment(milliseconds: try field.int64())
            case 15: traceContext = try TraceContext.decode(bytes.extracting(try field.range()))
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
            wantsReport: wantsReport,
            replacedIdentity: NotificationIdentity(bytes: replacedIdentity),
            push: push,
            receivedAt: receivedAt,
            traceContext: traceContext
        )
    }

    /// Appends the encoded message.
    public func encode(into output: inout [UInt8]) {
        output.append(addingCapacity: byteCount) { encode(into: &$0) }
    }

    /// Appends the encoded message to a span with at least ``byteCount`` free bytes.
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
        if let replacedIdentity {
            output.appendVarint(12 << 3 | 2)
            output.appendVarint(UInt64(Self.identityByteCount))
            output.appendBigEndian(replacedIdentity.high, count: 8)
            output.appendBigEndian(replacedIdentity.low, count: 8)
        }
        output.appendField(13, push)
        output.appendField(14, receivedAtMilliseconds)
        if let traceContext {
            output.appendVarint(15 << 3 | 2)
            output.appendVarint(UInt64(traceContext.byteCount))
            output.appendField(1, traceContext.parent.utf8.span)
            if let state = traceContext.state { output.appendField(2, state.utf8.span) }
        }
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
            + ProtobufSize.field(length: replacedIdentity == nil ? 0 : Self.identityByteCount)
            + ProtobufSize.field(push)
            + ProtobufSize.field(receivedAtMilliseconds)
            + ProtobufSize.field(length: traceContext?.byteCount ?? 0)
    }

    private static let identityByteCount = NotificationIdentity.byteCount

    private var expirationMilliseconds: UInt64 {
        switch expiration {
        case .nowOrNever: 0
        case .at(let moment): UInt64(max(moment.milliseconds, 0))
        }
    }

    /// The milliseconds since 1970; 0, which is not encoded, for nil.
    private var receivedAtMilliseconds: UInt64 { UInt64(bitPattern: receivedAt?.milliseconds ?? 0) }

    private var acceptedAtMilliseconds: UInt64 { UInt64(bitPattern: acceptedAt.milliseconds) }
}
