public import PostriderNotifications

/// A message from an app to the agent of its device (`AppMessage`).
public enum AppMessage: CourierMessage {
    /// Register this topic in this environment: the app wants a device token and its notifications.
    case register(topic: String, environment: Environment = .production)
    /// Unregister this topic.
    case unregister(topic: String)
    /// The app has handled these deliveries.
    case handled([UInt64])
    /// Subscribe to a channel.
    case subscribe(Subscribe)
    /// Unsubscribe from a channel.
    case unsubscribe(Subscribe)
    /// Attach without a device token: the app wants what the device itself has for this topic, such as local
    /// notifications.
    case attach(topic: String)
    /// A call to the app's user notification centre.
    case center(CenterCall)
    /// The app could not handle a delivery.
    case failed(Failed)
    /// The app is ready for the device to sleep. The number is that of the sleep.
    case ready(sleep: UInt64)
    /// Whether the app decides how its alerts are presented.
    case presentationWish(PresentationWish)
    /// How the app wants one alert to be presented.
    case presentation(Presentation)
    /// A message of a later version, or an empty one, which receivers ignore.
    case unknown

    /// Decodes the message.
    public init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        self = .unknown
        while let field = try reader.next(in: bytes) {
            guard [1, 2, 3, 4, 5, 10, 11, 12, 20, 29, 30].contains(field.number) else { continue }
            let content = bytes.extracting(try field.range())
            switch field.number {
            case 1:
                let (topic, environment) = try RegisterMessage.decode(content)
                self = .register(topic: topic, environment: environment)
            case 2: self = .unregister(topic: try TopicMessage.decode(content))
            case 3: self = .handled(try DeliveryList.decode(content))
            case 4: self = .subscribe(try Subscribe(decoding: content))
            case 5: self = .unsubscribe(try Subscribe(decoding: content))
            case 10: self = .attach(topic: try TopicMessage.decode(content))
            case 11: self = .center(try CenterCall(decoding: content))
            case 12: self = .failed(try Failed(decoding: content))
            case 20: self = .ready(sleep: try content.firstInteger())
            case 29: self = .presentation(try Presentation(decoding: content))
            default: self = .presentationWish(try PresentationWish(decoding: content))
            }
        }
    }

    /// Appends the encoded message.
    public func encode(into output: inout [UInt8]) {
        switch self {
        case .register(let topic, let environment):
            output.appendField(1) { RegisterMessage.encode(topic, environment, into: &$0) }
        case .unregister(let topic): output.appendField(2) { $0.appendField(1, topic) }
        case .handled(let deliveries): output.appendField(3) { $0.appendField(1, packed: deliveries) }
        case .subscribe(let subscribe): output.appendField(4, message: subscribe.encode)
        case .unsubscribe(let subscribe): output.appendField(5, message: subscribe.encode)
        case .attach(let topic): output.appendField(10) { $0.appendField(1, topic) }
        case .center(let call): output.appendField(11, message: call.encode)
        case .failed(let failed): output.appendField(12, message: failed.encode)
        case .ready(let sleep): output.appendField(20) { $0.appendField(1, sleep) }
        case .presentationWish(let wish): output.appendField(30, message: wish.encode)
        case .presentation(let presentation): output.appendField(29, message: presentation.encode)
        case .unknown: break
        }
    }
}

/// A message from an agent to an app (`AgentMessage`).
public enum AgentMessage: CourierMessage {
    /// The app is registered, and this is its device token.
    case registered(Registered)
    /// A registration has ended.
    case unregistered(topic: String)
    /// The agent or the relay has refused a registration.
    case refused(Refused)
    /// A notification. Its delivery number counts on the app's stream.
    case deliver(Deliver)
    /// The app is subscribed to a channel at the relay.
    case subscribed(ChannelIdentity)
    /// The app is not, or no longer, subscribed to a channel.
    case unsubscribed(Unsubscribed)
    /// An answer of the app's user notification centre.
    case answer(CenterAnswer)
    /// A local notification that is due. Its delivery number counts on the app's stream.
    case fired(Fired)
    /// The user's response to a notification. Its delivery number counts on the app's stream.
    case responded(Responded)
    /// The decision of the device's owner about the app's notifications: sent after `attach`, and whenever it
    /// changes.
    case authorization(Authorization)
    /// A change in the life cycle of an app that has a manifest.
    case lifeCycle(LifeCycle)
    /// An event of the device.
    case system(SystemEvent)
    /// The state of the device: sent once on each stream, before anything is handed over.
    case deviceState(DeviceState)
    /// Asks how an alert is to be presented.
    case willPresent(WillPresent)
    /// A message of a later version, or an empty one, which receivers ignore.
    case unknown

    /// Decodes the message.
    public init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        self = .unknown
        while let field = try reader.next(in: bytes) {
            guard [1, 2, 3, 4, 5, 6, 10, 11, 12, 13, 14, 20, 21, 30].contains(field.number) else { continue }
            let content = bytes.extracting(try field.range())
            switch field.number {
            case 1: self = .registered(try Registered(decoding: content))
            case 2: self = .unregistered(topic: try TopicMessage.decode(content))
            case 3: self = .refused(try Refused(decoding: content))
            case 4: self = .deliver(try Deliver(decoding: content))
            case 5: self = .subscribed(try ChannelMessage.decode(content))
            case 6: self = .unsubscribed(try Unsubscribed(decoding: content))
            case 10: self = .answer(try CenterAnswer(decoding: content))
            case 11: self = .fired(try Fired(decoding: content))
            case 12: self = .responded(try Responded(decoding: content))
            case 13: self = .authorization(try Authorization(decoding: content))
            case 14: self = .lifeCycle(try LifeCycle(decoding: content))
            case 20: self = .system(try SystemEvent(decoding: content))
            case 21: self = .deviceState(try DeviceState(decoding: content))
            default: self = .willPresent(try WillPresent(decoding: content))
            }
        }
    }

    /// Appends the encoded message.
    public func encode(into output: inout [UInt8]) {
        switch self {
        case .registered(let registered): output.appendField(1, message: registered.encode)
        case .unregistered(let topic): output.appendField(2) { $0.appendField(1, topic) }
        case .refused(let refused): output.appendField(3, message: refused.encode)
        case .deliver(let deliver): output.appendField(4, message: deliver.encode)
        case .subscribed(let channel): output.appendField(5) { $0.appendField(1, channel.bytes) }
        case .unsubscribed(let unsubscribed): output.appendField(6, message: unsubscribed.encode)
        case .answer(let answer): output.appendField(10, message: answer.encode)
        case .fired(let fired): output.appendField(11, message: fired.encode)
        case .responded(let responded): output.appendField(12, message: responded.encode)
        case .authorization(let authorization): output.appendField(13, message: authorization.encode)
        case .lifeCycle(let lifeCycle): output.appendField(14, message: lifeCycle.encode)
        case .system(let event): output.appendField(20, message: event.encode)
        case .deviceState(let state): output.appendField(21, message: state.encode)
        case .willPresent(let question): output.appendField(30, message: question.encode)
        case .unknown: break
        }
    }
}
