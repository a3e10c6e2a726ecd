public import PostriderNotifications

/// A request for a local notification (`LocalRequest`).
public struct LocalRequest: CourierMessage {
    /// The identifier that the app has chosen. A second request with the same identifier replaces the first.
    public let identifier: String
    /// The content of the notification.
    public let content: LocalContent
    /// When the notification is due; nil for at once.
    public let trigger: Trigger?

    /// Creates a request from its parts.
    public init(identifier: String, content: LocalContent, trigger: Trigger?) {
        self.identifier = identifier
        self.content = content
        self.trigger = trigger
    }

    /// Decodes the message.
    public init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var identifier = ""
        var content = LocalContent()
        var trigger: Trigger?
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: identifier = try field.text(in: bytes)
            case 2: content = try LocalContent(decoding: bytes.extracting(try field.range()))
            case 3: trigger = try Trigger(decoding: bytes.extracting(try field.range()))
            default: break
            }
        }
        self.init(identifier: identifier, content: content, trigger: trigger)
    }

    /// Appends the encoded message.
    public func encode(into output: inout [UInt8]) {
        output.appendField(1, identifier)
        output.appendField(2, message: content.encode)
        if let trigger { output.appendField(3, message: trigger.encode) }
    }
}

/// The content of a local notification (`Content`). Empty or nil values are not shown.
public struct LocalContent: CourierMessage {
    /// The first line.
    public var title = ""
    /// The second line.
    public var subtitle = ""
    /// The body.
    public var body = ""
    /// The number on the app's icon; 0 removes it, nil leaves it unchanged.
    public var badge: UInt32?
    /// The name of a sound.
    public var sound = ""
    /// The app's own values, a JSON object.
    public var userInfo: [UInt8] = []
    /// The identifier of the category, which is one of the app's and defines the actions.
    public var category = ""
    /// Notifications with the same thread are shown together.
    public var thread = ""
    /// How much the notification may disturb the user.
    public var level = InterruptionLevel.active
    /// The importance among the app's notifications, from 0 to 1.
    public var relevance = 0.0

    /// Creates empty content.
    public init() {}

    /// Decodes the message.
    public init(decoding bytes: Span<UInt8>) throws(CourierError) {
        self.init()
        var reader = ProtobufReader()
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: title = try field.text(in: bytes)
            case 2: subtitle = try field.text(in: bytes)
            case 3: body = try field.text(in: bytes)
            case 4: badge = try field.uint32()
            case 5: sound = try field.text(in: bytes)
            case 6: userInfo = try field.bytes(in: bytes)
            case 7: category = try field.text(in: bytes)
            case 8: thread = try field.text(in: bytes)
            case 9: level = try field.choice(or: .active)
            case 10: relevance = Self.relevance(try field.double())
            default: break
            }
        }
    }

    /// Appends the encoded message.
    public func encode(into output: inout [UInt8]) {
        output.appendField(1, title)
        output.appendField(2, subtitle)
        output.appendField(3, body)
        output.appendPresentField(4, badge.map { Int64($0) })
        output.appendField(5, sound)
        output.appendField(6, userInfo)
        output.appendField(7, category)
        output.appendField(8, thread)
        if level != .active { output.appendPresentField(9, Int64(level.rawValue)) }
        output.appendDouble(10, relevance)
    }

    /// Clamps a value to the range from 0 to 1; NaN becomes 0.
    private static func relevance(_ value: Double) -> Double {
        value > 0 ? min(value, 1) : 0
    }
}

/// How much a notification may disturb the user (`InterruptionLevel`). The raw values are those of Apple's
/// `UNNotificationInterruptionLevel`.
public enum InterruptionLevel: UInt8, CaseIterable, Sendable {
    /// The notification is shown without a sound.
    case passive = 0
    /// The notification is shown with its sound.
    case active = 1
    /// The notification is shown at once.
    case timeSensitive = 2
    /// The notification stays until the user has seen it.
    case critical = 3
}

/// When a local notification is due (`Trigger`).
extension Trigger: CourierMessage {
    /// Decodes the trigger. An empty one, or one of a later version, is an error, because it is unknown when it is
    /// due.
    public init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var trigger: Trigger?
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: trigger = try Self.interval(decoding: bytes.extracting(try field.range()))
            case 2:
                let content = bytes.extracting(try field.range())
                trigger = .calendar(try CalendarMoment(decoding: content), repeats: try Self.repeats(content))
            case 3: trigger = .at(Moment(milliseconds: try field.int64()))
            default: break
            }
        }
        guard let trigger else {
            throw .missingChoice(of: "trigger", fields: "interval, calendar and at")
        }
        self = trigger
    }

    /// Appends the encoded message.
    public func encode(into output: inout [UInt8]) {
        switch self {
        case .interval(let milliseconds, let repeats):
            output.appendField(1) { output in
                output.appendField(1, UInt64(bitPattern: milliseconds))
                output.appendField(15, repeats ? 1 : 0)
            }
        case .calendar(let moment, let repeats):
            output.appendField(2) { output in
                moment.encode(into: &output)
                output.appendField(15, repeats ? 1 : 0)
            }
        case .at(let moment): output.appendPresentField(3, moment.milliseconds)
        }
    }

    private static func interval(decoding bytes: Span<UInt8>) throws(CourierError) -> Trigger {
        var reader = ProtobufReader()
        var milliseconds: Int64 = 0
        while let field = try reader.next(in: bytes) {
            if field.number == 1 { milliseconds = try field.int64() }
        }
        return .interval(milliseconds: milliseconds, repeats: try repeats(bytes))
    }

    /// Decodes field 15, which two of the messages have.
    private static func repeats(_ bytes: Span<UInt8>) throws(CourierError) -> Bool {
        var reader = ProtobufReader()
        var repeats = false
        while let field = try reader.next(in: bytes) {
            if field.number == 15 { repeats = try field.uint64() != 0 }
        }
        return repeats
    }
}

extension CalendarMoment {
    init(decoding bytes: Span<UInt8>) throws(CourierError) {
        self.init()
        var reader = ProtobufReader()
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: year = Int(try field.uint32())
            case 2: month = Int(try field.uint32())
            case 3: day = Int(try field.uint32())
            case 4: weekday = Int(try field.uint32())
            case 5: weekdayOrdinal = Int(try field.uint32())
            case 6: hour = Int(try field.uint32())
            case 7: minute = Int(try field.uint32())
            case 8: second = Int(try field.uint32())
            case 9:
                let name = try field.text(in: bytes)
                zone = name.isEmpty ? nil : name
            default: break
            }
        }
    }

    func encode(into output: inout [UInt8]) {
        let values = [year, month, day, weekday, weekdayOrdinal, hour, minute, second]
        for (index, value) in values.enumerated() {
            output.appendPresentField(UInt64(index) + 1, value.map { Int64($0) })
        }
        if let zone { output.appendField(9, zone) }
    }
}
