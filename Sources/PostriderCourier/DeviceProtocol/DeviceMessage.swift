public import PostriderNotifications

/// What a device says on its stream (`DeviceMessage`).
public enum DeviceMessage: CourierMessage {
    /// Who it is: first, and once.
    case hello(Hello)
    /// It wants a token for this topic, good in this environment.
    case register(topic: String, environment: Environment = .production)
    /// The app of this topic is gone.
    case unregister(topic: String)
    /// It is responsible for these deliveries from now on.
    case acknowledge([UInt64])
    /// It leaves.
    case goodbye(Goodbye)
    /// It wants the broadcasts of a channel.
    case subscribe(Subscribe)
    /// It does not want them any more.
    case unsubscribe(ChannelIdentity)
    /// What became of notifications whose ``Deliver/wantsReport`` is set.
    case report(Report)
    /// How it wants to be sent what waits for it has changed.
    case reception(Reception)
    /// It is awake: it wants what is held back for it.
    case fetch
    /// A message of a later version, or an empty one: passed over.
    case unknown

    /// The message that these bytes are.
    public init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        self = .unknown
        while let field = try reader.next(in: bytes) {
            guard (1...10).contains(field.number) else { continue }
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
            default: self = .fetch
            }
        }
    }

    /// Appends the message.
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
        case .unknown: break
        }
    }
}

/// The messages that hold nothing but a topic.
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

/// The messages that hold nothing but delivery numbers.
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
