/// How an alert is presented, as bits (`Presentation.options`). The raw values are those of Apple's
/// `UNNotificationPresentationOptions`.
public struct PresentationOptions: OptionSet, Hashable, Sendable {
    /// The bits of the set.
    public let rawValue: UInt32
    /// Creates a set from its bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The number on the app's icon is set.
    public static let badge = PresentationOptions(rawValue: 1)
    /// The sound is played.
    public static let sound = PresentationOptions(rawValue: 2)
    /// The alert stays in the list of delivered notifications.
    public static let list = PresentationOptions(rawValue: 8)
    /// The alert is shown.
    public static let banner = PresentationOptions(rawValue: 16)

    /// The presentation if the app does not decide.
    public static let all: PresentationOptions = [.badge, .sound, .list, .banner]
}

/// Whether an app decides how its alerts are presented while it runs (`PresentationWish`).
public struct PresentationWish: CourierMessage {
    /// The topic of the app.
    public let topic: String
    /// Whether the app decides.
    public let decides: Bool

    /// Creates a wish from its parts.
    public init(topic: String, decides: Bool) {
        self.topic = topic
        self.decides = decides
    }

    /// Decodes the message.
    public init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var (topic, decides) = ("", false)
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: topic = try field.text(in: bytes)
            case 2: decides = try field.uint64() != 0
            default: break
            }
        }
        self.init(topic: topic, decides: decides)
    }

    /// Appends the encoded message.
    public func encode(into output: inout [UInt8]) {
        output.appendField(1, topic)
        output.appendField(2, decides ? 1 : 0)
    }
}

/// Asks an app how an alert is to be presented (`WillPresent`).
public struct WillPresent: CourierMessage {
    /// The number of the question, which the answer repeats.
    public let question: UInt64
    /// The topic of the app.
    public let topic: String
    /// The notification that is to be presented.
    public let subject: Responded.Subject
    /// The identifier under which it will be listed as delivered; empty if the agent is of an earlier version.
    public let identifier: String

    /// Creates a question from its parts.
    public init(question: UInt64, topic: String, subject: Responded.Subject, identifier: String = "") {
        self.question = question
        self.topic = topic
        self.subject = subject
        self.identifier = identifier
    }

    /// Decodes the message.
    public init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var (question, topic, subject) = (UInt64(0), "", Responded.Subject.remote(payload: []))
        var identifier = ""
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: question = try field.uint64()
            case 2: topic = try field.text(in: bytes)
            case 3: subject = .local(try LocalNotice(decoding: bytes.extracting(try field.range())))
            case 4: subject = .remote(payload: try field.bytes(in: bytes))
            case 5: identifier = try field.text(in: bytes)
            default: break
            }
        }
        self.init(question: question, topic: topic, subject: subject, identifier: identifier)
    }

    /// Appends the encoded message.
    public func encode(into output: inout [UInt8]) {
        output.appendField(1, question)
        output.appendField(2, topic)
        switch subject {
        case .local(let notice): output.appendField(3, message: notice.encode)
        case .remote(let payload): output.appendField(4, payload)
        }
        output.appendField(5, identifier)
    }
}

/// An app's answer to ``WillPresent`` (`Presentation`).
public struct Presentation: CourierMessage {
    /// The number of the question.
    public let question: UInt64
    /// How to present the alert; an empty set suppresses it.
    public let options: PresentationOptions

    /// Creates an answer from its parts.
    public init(question: UInt64, options: PresentationOptions) {
        self.question = question
        self.options = options
    }

    /// Decodes the message.
    public init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var (question, options) = (UInt64(0), UInt32(0))
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: question = try field.uint64()
            case 2: options = try field.uint32()
            default: break
            }
        }
        self.init(question: question, options: PresentationOptions(rawValue: options))
    }

    /// Appends the encoded message.
    public func encode(into output: inout [UInt8]) {
        output.appendField(1, question)
        output.appendField(2, UInt64(options.rawValue))
    }
}
