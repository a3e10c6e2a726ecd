public import Notifications

/// What an app says to the agent of its device (`AppMessage`).
public enum AppMessage: CourierMessage {
    /// It wants a token for this topic, good in this environment, and its notifications.
    case register(topic: String, environment: Environment = .production)
    /// It wants neither any longer.
    case unregister(topic: String)
    /// It is done with these deliveries.
    case handled([UInt64])
    /// A message of a later version, or an empty one: passed over.
    case unknown

    /// The message that these bytes are.
    public init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        self = .unknown
        while let field = try reader.next(in: bytes) {
            guard (1...3).contains(field.number) else { continue }
            let content = bytes.extracting(try field.range())
            switch field.number {
            case 1:
                let (topic, environment) = try RegisterMessage.decode(content)
                self = .register(topic: topic, environment: environment)
            case 2: self = .unregister(topic: try TopicMessage.decode(content))
            default: self = .handled(try DeliveryList.decode(content))
            }
        }
    }

    /// Appends the message.
    public func encode(into output: inout [UInt8]) {
        switch self {
        case .register(let topic, let environment):
            output.appendField(1) { RegisterMessage.encode(topic, environment, into: &$0) }
        case .unregister(let topic): output.appendField(2) { $0.appendField(1, topic) }
        case .handled(let deliveries): output.appendField(3) { $0.appendField(1, packed: deliveries) }
        case .unknown: break
        }
    }
}

/// What an agent says to an app (`AgentMessage`).
public enum AgentMessage: CourierMessage {
    /// The app's token.
    case registered(Registered)
    /// A registration has ended.
    case unregistered(topic: String)
    /// A registration cannot be made.
    case refused(Refused)
    /// A notification; its number counts on the app's stream.
    case deliver(Deliver)
    /// A message of a later version, or an empty one: passed over.
    case unknown

    /// The message that these bytes are.
    public init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        self = .unknown
        while let field = try reader.next(in: bytes) {
            guard (1...4).contains(field.number) else { continue }
            let content = bytes.extracting(try field.range())
            switch field.number {
            case 1: self = .registered(try Registered(decoding: content))
            case 2: self = .unregistered(topic: try TopicMessage.decode(content))
            case 3: self = .refused(try Refused(decoding: content))
            default: self = .deliver(try Deliver(decoding: content))
            }
        }
    }

    /// Appends the message.
    public func encode(into output: inout [UInt8]) {
        switch self {
        case .registered(let registered): output.appendField(1, message: registered.encode)
        case .unregistered(let topic): output.appendField(2) { $0.appendField(1, topic) }
        case .refused(let refused): output.appendField(3, message: refused.encode)
        case .deliver(let deliver): output.appendField(4, message: deliver.encode)
        case .unknown: break
        }
    }
}
