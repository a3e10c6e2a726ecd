public import PostriderNotifications

/// A local notification that an app asks for (`LocalRequest`).
public struct LocalRequest: CourierMessage {
    /// The app's own name for it; a second one of the same name replaces the first.
    public let identifier: String
    /// What is shown and told.
    public let content: LocalContent
    /// When; nil: at once.
    public let trigger: Trigger?

    /// A request from its parts.
    public init(identifier: String, content: LocalContent, trigger: Trigger?) {
        self.identifier = identifier
        self.content = content
        self.trigger = trigger
    }

    /// The message that these bytes are.
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

    /// Appends the message.
    public func encode(into output: inout [UInt8]) {
        output.appendField(1, identifier)
        output.appendField(2, message: content.encode)
        if let trigger { output.appendField(3, message: trigger.encode) }
    }
}

/// What a local notification shows and tells (`Content`); what is empty or nil is not shown.
public struct LocalContent: CourierMessage {
    /// The first line.
    public var title = ""
    /// The second line.
    public var subtitle = ""
    /// The text.
    public var body = ""
    /// The number on the app's icon; 0 removes it, nil leaves it.
    public var badge: UInt32?
    /// The name of a sound.
    public var sound = ""
    /// The app's own, a JSON object.
    public var userInfo: [UInt8] = []
    /// Which of the app's categories it is of: what the user can do with it.
    public var category = ""
    /// What it is shown together with.
    public var thread = ""
    /// How much it may disturb.
    public var level = InterruptionLevel.active
    /// Which of the app's notifications matters most, from 0 to 1.
    public var relevance = 0.0

    /// A content that shows nothing.
    public init() {}

    /// The message that these bytes are.
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

    /// Appends the message.
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

    /// What is not a number from 0 to 1 becomes the nearest that is.
    private static func relevance(_ value: Double) -> Double {
        value > 0 ? min(value, 1) : 0
    }
}

/// How much a notification may disturb (`InterruptionLevel`). Numbers as Apple's `UNNotificationInterruptionLevel`.
public enum InterruptionLevel: UInt8, CaseIterable, Sendable {
    /// It is shown without a sound.
    case passive = 0
    /// It is shown with its sound.
    case active = 1
    /// It is shown at once.
    case timeSensitive = 2
    /// It stays until the user has seen it.
    case critical = 3
}

/// When a local notification is due (`Trigger`).
extension Trigger: CourierMessage {
    /// The message that these bytes are. One of a later version, or an empty one, is an error: it cannot be said when.
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

    /// Appends the message.
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

    /// Field 15 of both messages that have it.
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
