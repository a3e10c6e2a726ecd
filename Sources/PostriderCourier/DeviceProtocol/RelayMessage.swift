public import PostriderNotifications

/// A message from a relay to a device (`RelayMessage`).
public enum RelayMessage: CourierMessage {
    /// The device is accepted: sent first, and once.
    case welcome(Welcome)
    /// A topic is registered.
    case registered(Registered)
    /// A registration has ended, at the request of the device or of the operator.
    case unregistered(topic: String)
    /// The relay refuses a registration.
    case refused(Refused)
    /// A notification.
    case deliver(Deliver)
    /// The relay ends the stream.
    case goodbye(Goodbye)
    /// The device is subscribed to a channel.
    case subscribed(ChannelIdentity)
    /// The device is not, or no longer, subscribed to a channel.
    case unsubscribed(Unsubscribed)
    /// A broadcast. Its ``Deliver/channel`` is never nil, and its delivery number is 0.
    case broadcast(Deliver)
    /// A message of a later version, or an empty one, which receivers ignore.
    case unknown

    /// Decodes the message.
    public init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        self = .unknown
        while let field = try reader.next(in: bytes) {
            guard (1...9).contains(field.number) else { continue }
            let content = bytes.extracting(try field.range())
            switch field.number {
            case 1: self = .welcome(try Welcome(decoding: content))
            case 2: self = .registered(try Registered(decoding: content))
            case 3: self = .unregistered(topic: try TopicMessage.decode(content))
            case 4: self = .refused(try Refused(decoding: content))
            case Self.deliverField: self = .deliver(try Deliver(decoding: content))
            case 6: self = .goodbye(try Goodbye(decoding: content))
            case 7: self = .subscribed(try ChannelMessage.decode(content))
            case 8: self = .unsubscribed(try Unsubscribed(decoding: content))
            default:
                let deliver = try Deliver(decoding: content)
                guard deliver.channel != nil else {
                    throw .wrongLength(field: 10, expected: ChannelIdentity.byteCount)
                }
                self = .broadcast(deliver)
            }
        }
    }

    /// Appends the encoded message.
    public func encode(into output: inout [UInt8]) {
        switch self {
        case .welcome(let welcome): output.appendField(1, message: welcome.encode)
        case .registered(let registered): output.appendField(2, message: registered.encode)
        case .unregistered(let topic): output.appendField(3) { $0.appendField(1, topic) }
        case .refused(let refused): output.appendField(4, message: refused.encode)
        case .deliver(let deliver): output.appendField(UInt64(Self.deliverField), message: deliver.encode)
        case .goodbye(let goodbye): output.appendField(6, message: goodbye.encode)
        case .subscribed(let channel): output.appendField(7) { $0.appendField(1, channel.bytes) }
        case .unsubscribed(let unsubscribed): output.appendField(8, message: unsubscribed.encode)
        case .broadcast(let deliver): output.appendField(9, message: deliver.encode)
        case .unknown: break
        }
    }

    static let deliverField: UInt32 = 5
}
