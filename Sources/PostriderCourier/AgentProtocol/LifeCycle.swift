/// What happens to an app (`LifeCycle`). It is told upon `attach` and `register`, and whenever it changes: an app that
/// is told something again passes over it.
public struct LifeCycle: CourierMessage {
    /// The app.
    public let topic: String
    /// What has happened, or will.
    public let event: Event
    /// Why it was started, where it has just been.
    public let launch: LaunchReason

    /// What can happen to an app, in this order.
    public enum Event: UInt8, CaseIterable, Sendable {
        /// Its process is there.
        case didFinishLaunching = 1
        /// It is what the device is used for.
        case didBecomeActive = 2
        /// It goes on unseen.
        case didEnterBackground = 3
        /// It is to end.
        case willTerminate = 4
    }

    /// An event from its parts.
    public init(topic: String, event: Event, launch: LaunchReason = .itself) {
        self.topic = topic
        self.event = event
        self.launch = launch
    }

    /// The message that these bytes are.
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

    /// Appends the message.
    public func encode(into output: inout [UInt8]) {
        output.appendField(1, topic)
        output.appendField(2, UInt64(event.rawValue))
        if launch != .itself { output.appendField(3, message: launch.encode) }
    }
}

/// Why an app's process is there (`LaunchReason`). What it was started for follows as a delivery.
public enum LaunchReason: CourierMessage {
    /// Nobody has started it: neither agent nor operator.
    case itself
    /// A push.
    case remote(Deliver)
    /// A local notification.
    case fired(Fired)
    /// What the user has done with a notification.
    case responded(Responded)
    /// Somebody wants to use it.
    case activation

    /// The message that these bytes are.
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

    /// Appends the message.
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
    /// Its number on the stream.
    public let delivery: UInt64
    /// One sentence for the operator.
    public let reason: String

    /// A failure from its parts.
    public init(delivery: UInt64, reason: String) {
        self.delivery = delivery
        self.reason = reason
    }

    /// The message that these bytes are.
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

    /// Appends the message.
    public func encode(into output: inout [UInt8]) {
        output.appendField(1, delivery)
        output.appendField(2, reason)
    }
}
