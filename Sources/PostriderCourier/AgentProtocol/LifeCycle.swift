/// A change in the life cycle of an app (`LifeCycle`). It is sent after `attach` and `register`, and whenever it
/// changes. An app ignores an event that it had before.
public struct LifeCycle: CourierMessage {
    /// The topic of the app.
    public let topic: String
    /// What has happened or is about to happen.
    public let event: Event
    /// Why the app was started, if `event` is ``Event/didFinishLaunching``.
    public let launch: LaunchReason

    /// The events of an app's life cycle, in this order.
    public enum Event: UInt8, CaseIterable, Sendable {
        /// The process has started.
        case didFinishLaunching = 1
        /// The user has brought the app to the front.
        case didBecomeActive = 2
        /// The app goes to the background.
        case didEnterBackground = 3
        /// The app has to end.
        case willTerminate = 4
    }

    /// Creates an event from its parts.
    public init(topic: String, event: Event, launch: LaunchReason = .itself) {
        self.topic = topic
        self.event = event
        self.launch = launch
    }

    /// Decodes the message.
    public init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var (topic, event, launch) = ("", Event.didFinishLaunching, LaunchReason.itself)
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: topic = try field.text(in: bytes)
            case 2:
                event = try field.choice(or: event)
            case 3: launch = try LaunchReason(decoding: bytes.extracting(try field.range()))
            default: break
            }
        }
        self.init(topic: topic, event: event, launch: launch)
    }

    /// Appends the encoded message.
    public func encode(into output: inout [UInt8]) {
        output.appendField(1, topic)
        output.appendField(2, UInt64(event.rawValue))
        if launch != .itself { output.appendField(3, message: launch.encode) }
    }
}

/// Why an app's process runs (`LaunchReason`). The notification for which it was started follows as a delivery.
public enum LaunchReason: CourierMessage {
    /// Neither the agent nor the user started it through the agent.
    case itself
    /// A push arrived.
    case remote(Deliver)
    /// A local notification became due.
    case fired(Fired)
    /// The user responded to a notification.
    case responded(Responded)
    /// The user opened the app.
    case activation

    /// Decodes the message.
    public init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        self = .itself
        while let field = try reader.next(in: bytes) {
            guard (1...4).contains(field.number) else { continue }
            let content = bytes.extracting(try field.range())
            switch field.number {
            case 1: self = .remote(try Deliver(decoding: content))
            case 2: self = .fired(try Fired(decoding: content))
            case 3: self = .responded(try Responded(decoding: content))
            default: self = .activation
            }
        }
    }

    /// Appends the encoded message.
    public func encode(into output: inout [UInt8]) {
        switch self {
        case .itself: break
        case .remote(let deliver): output.appendField(1, message: deliver.encode)
        case .fired(let fired): output.appendField(2, message: fired.encode)
        case .responded(let responded): output.appendField(3, message: responded.encode)
        case .activation: output.appendField(4) { _ in }
        }
    }
}

/// A delivery that an app could not handle (`Failed`).
public struct Failed: CourierMessage {
    /// The number of the delivery on the stream.
    public let delivery: UInt64
    /// One sentence for the operator.
    public let reason: String

    /// Creates a failure from its parts.
    public init(delivery: UInt64, reason: String) {
        self.delivery = delivery
        self.reason = reason
    }

    /// Decodes the message.
    public init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var (delivery, reason) = (UInt64(0), "")
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: delivery = try field.uint64()
            case 2: reason = try field.text(in: bytes)
            default: break
            }
        }
        self.init(delivery: delivery, reason: reason)
    }

    /// Appends the encoded message.
    public func encode(into output: inout [UInt8]) {
        output.appendField(1, delivery)
        output.appendField(2, reason)
    }
}
