public import PostriderNotifications

/// What an app says to the agent of its device (`AppMessage`).
public enum AppMessage: CourierMessage {
    /// It wants a token for this topic, good in this environment, and its notifications.
    case register(topic: String, environment: Environment = .production)
    /// It wants neither any longer.
    case unregister(topic: String)
    /// It is done with these deliveries.
    case handled([UInt64])
    /// It wants the broadcasts of a channel.
    case subscribe(Subscribe)
    /// It does not want them any more.
    case unsubscribe(Subscribe)
    /// It wants what the device has for this topic, without a token: what its user notification centre brings.
    case attach(topic: String)
    /// It asks something of its user notification centre.
    case center(CenterCall)
    /// It could not handle a delivery.
    case failed(Failed)
    /// It has done what it wants to do before the device sleeps for the time of this number.
    case ready(sleep: UInt64)
    /// It decides how its alerts are presented, or does not.
    case presentationWish(PresentationWish)
    /// It has decided about one.
    case presentation(Presentation)
    /// A message of a later version, or an empty one: passed over.
    case unknown

    /// The message that these bytes are.
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

    /// Appends the message.
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
    /// The app's channel is subscribed at the relay.
    case subscribed(ChannelIdentity)
    /// It is not, or not any more.
    case unsubscribed(Unsubscribed)
    /// An answer to the app's user notification centre.
    case answer(CenterAnswer)
    /// A local notification; its number counts on the app's stream.
    case fired(Fired)
    /// What the user has done with a notification; its number counts on the app's stream.
    case responded(Responded)
    /// What the owner of the device says about the app's alerts: upon `attach`, and whenever it changes.
    case authorization(Authorization)
    /// What happens to a declared app.
    case lifeCycle(LifeCycle)
    /// What happens to the device.
    case system(SystemEvent)
    /// What holds on the device: once on each stream, before all that is handed over on it.
    case deviceState(DeviceState)
    /// How is an alert to be presented?
    case willPresent(WillPresent)
    /// A message of a later version, or an empty one: passed over.
    case unknown

    /// The message that these bytes are.
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

    /// Appends the message.
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
