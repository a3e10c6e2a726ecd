public import PostriderNotifications

/// Subscribes a device to a channel for as long as the stream lasts (`Subscribe`).
public struct Subscribe: CourierMessage {
    /// The topic of the app, which must be registered.
    public let topic: String
    /// The channel.
    public let channel: ChannelIdentity
    /// The last broadcast of the channel that the device has stored, which is not sent again; nil for none.
    public let last: NotificationIdentity?
    /// When the relay accepted that broadcast, because providers may use one identity for several broadcasts; nil if
    /// the device does not know.
    public let lastAcceptedAt: Moment?

    /// Creates a subscription from its parts.
    public init(
        topic: String, channel: ChannelIdentity, last: NotificationIdentity? = nil,
        lastAcceptedAt: Moment? = nil
    ) {
        self.topic = topic
        self.channel = channel
        self.last = last
        self.lastAcceptedAt = lastAcceptedAt
    }

    /// Whether the device has stored this broadcast.
    public func hasMadeSafe(_ broadcast: Broadcast) -> Bool {
        broadcast.identity == last && lastAcceptedAt ?? broadcast.acceptedAt == broadcast.acceptedAt
    }

    /// Decodes the message.
    public init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var topic = ""
        var channel: ChannelIdentity?
        var last = [UInt8]()
        var acceptedAt: Int64 = 0
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: topic = try field.text(in: bytes)
            case 2: channel = try field.channel(in: bytes)
            case 3: last = try field.bytes(in: bytes)
            case 4: acceptedAt = try field.int64()
            default: break
            }
        }
        guard let channel else { throw .wrongLength(field: 2, expected: ChannelIdentity.byteCount) }
        guard last.isEmpty || last.count == NotificationIdentity.byteCount else {
            throw .wrongLength(field: 3, expected: NotificationIdentity.byteCount)
        }
        self.init(
            topic: topic, channel: channel, last: NotificationIdentity(bytes: last),
            lastAcceptedAt: acceptedAt == 0 ? nil : Moment(milliseconds: acceptedAt))
    }

    /// Appends the encoded message.
    public func encode(into output: inout [UInt8]) {
        output.appendField(1, topic)
        output.appendField(2, channel.bytes)
        if let last { output.appendField(3, last.bytes) }
        if let lastAcceptedAt { output.appendField(4, UInt64(bitPattern: lastAcceptedAt.milliseconds)) }
    }
}

/// Tells a device that it is not, or no longer, subscribed to a channel (`Unsubscribed`).
public struct Unsubscribed: CourierMessage {
    /// The channel.
    public let channel: ChannelIdentity
    /// One sentence for the user; empty if the device itself has unsubscribed.
    public let reason: String
    /// The topic of the app whose subscription ended; empty for all apps with a subscription.
    public let topic: String

    /// The end of a subscription from its parts.
    public init(channel: ChannelIdentity, reason: String, topic: String = "") {
        self.channel = channel
        self.reason = reason
        self.topic = topic
    }

    /// Decodes the message.
    public init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var channel: ChannelIdentity?
        var (reason, topic) = ("", "")
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: channel = try field.channel(in: bytes)
            case 2: reason = try field.text(in: bytes)
            case 3: topic = try field.text(in: bytes)
            default: break
            }
        }
        guard let channel else { throw .wrongLength(field: 1, expected: ChannelIdentity.byteCount) }
        self.init(channel: channel, reason: reason, topic: topic)
    }

    /// Appends the encoded message.
    public func encode(into output: inout [UInt8]) {
        output.appendField(1, channel.bytes)
        output.appendField(2, reason)
        output.appendField(3, topic)
    }
}

/// The encoding of messages that contain only a channel.
enum ChannelMessage {
    static func decode(_ bytes: Span<UInt8>) throws(CourierError) -> ChannelIdentity {
        var reader = ProtobufReader()
        var channel: ChannelIdentity?
        while let field = try reader.next(in: bytes) {
            if field.number == 1 { channel = try field.channel(in: bytes) }
        }
        guard let channel else { throw .wrongLength(field: 1, expected: ChannelIdentity.byteCount) }
        return channel
    }
}

extension ProtobufReader.Field {
    /// The content of the field as a channel.
    package func channel(in message: Span<UInt8>) throws(CourierError) -> ChannelIdentity {
        guard let channel = ChannelIdentity(bytes: try bytes(in: message)) else {
            throw .wrongLength(field: number, expected: ChannelIdentity.byteCount)
        }
        return channel
    }
}

/// The framed `RelayMessage` that carries a broadcast. It is the same for every device, so one array of bytes serves
/// all streams.
public func frameBroadcast(_ broadcast: Broadcast) -> [UInt8] {
    var frame: [UInt8] = []
    MessageFraming.frame(RelayMessage.broadcast(Deliver(broadcast)), into: &frame)
    return frame
}
