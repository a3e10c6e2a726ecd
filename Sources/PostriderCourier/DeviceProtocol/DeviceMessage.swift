public import PostriderNotifications

/// A message from a device to the relay (`DeviceMessage`).
public enum DeviceMessage: CourierMessage {
    /// The identity of the device: sent first, and once.
    case hello(Hello)
    /// Register this topic in this environment: the device wants a device token.
    case register(topic: String, environment: Environment = .production)
    /// Unregister this topic, whose app is gone.
    case unregister(topic: String)
    /// The device has stored these deliveries, and the relay may forget them.
    case acknowledge([UInt64])
    /// The device ends the stream.
    case goodbye(Goodbye)
    /// Subscribe to a channel.
    case subscribe(Subscribe)
    /// Unsubscribe from a channel.
    case unsubscribe(ChannelIdentity)
    /// What happened to notifications whose ``Deliver/wantsReport`` is set.
    case report(Report)
    /// How the device wants to get its notifications has changed.
    case reception(Reception)
    /// The device is awake, and wants the notifications that the relay holds back.
    case fetch
    /// Register a topic to which application servers send by Web Push.
    case registerWebPush(RegisterWebPush)
    /// A message of a later version, or an empty one, which receivers ignore.
    case unknown

    /// Decodes the message.
    public init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        self = .unknown
        while let field = try reader.next(in: bytes) {
            guard (1...11).contains(field.number) else { continue }
            let content = bytes.extracting(try field.range())
            switch field.number {
            case 1: self = .hello(try Hello(decoding: content))
            case 2:
                let (topic, environment) = try RegisterMessage.decode(content)
                self = .register(topic: topic, environment: environment)
            case 3: self = .unregister(topic: try TopicMessage.decode(content))
            case 4: self = .acknowledge(try DeliveryList.decode(content))
            case 5: self = .goodbye(try Goodbye(decoding: content))
            case 6: self = .subscribe(try Subscribe(decoding: content))
            case 7: self = .unsubscribe(try ChannelMessage.decode(content))
            case 8: self = .report(try Report(decoding: content))
            case 9: self = .reception(try Reception(decoding: content))
            case 10: self = .fetch
            default: self = .registerWebPush(try RegisterWebPush(decoding: content))
            }
        }
    }

    /// Appends the encoded message.
    public func encode(into output: inout [UInt8]) {
        switch self {
        case .hello(let hello): output.appendField(1, message: hello.encode)
        case .register(let topic, let environment):
            output.appendField(2) { RegisterMessage.encode(topic, environment, into: &$0) }
        case .unregister(let topic): output.appendField(3) { $0.appendField(1, topic) }
        case .acknowledge(let deliveries): output.appendField(4) { $0.appendField(1, packed: deliveries) }
        case .goodbye(let goodbye): output.appendField(5, message: goodbye.encode)
        case .subscribe(let subscribe): output.appendField(6, message: subscribe.encode)
        case .unsubscribe(let channel): output.appendField(7) { $0.appendField(1, channel.bytes) }
        case .report(let report): output.appendField(8, message: report.encode)
        case .reception(let reception): output.appendField(9, message: reception.encode)
        case .fetch: output.appendField(10) { _ in }
        case .registerWebPush(let wish): output.appendField(11, message: wish.encode)
        case .unknown: break
        }
    }
}

/// The encoding of messages that contain only a topic.
enum TopicMessage {
    static func decode(_ bytes: Span<UInt8>) throws(CourierError) -> String {
        var reader = ProtobufReader()
        var topic = ""
        while let field = try reader.next(in: bytes) {
            if field.number == 1 { topic = try field.text(in: bytes) }
        }
        return topic
    }
}

/// The encoding of messages that contain only delivery numbers.
enum DeliveryList {
    static func decode(_ bytes: Span<UInt8>) throws(CourierError) -> [UInt64] {
        var reader = ProtobufReader()
        var deliveries = [UInt64]()
        while let field = try reader.next(in: bytes) {
            if field.number == 1 { try field.appendUInt64s(in: bytes, to: &deliveries) }
        }
        return deliveries
    }
}
