import PostriderCourier
import PostriderJSON
import PostriderNotifications

/// One start of a handler: what it is told.
struct HandlerJob {
    /// The delivery on the handler's stream.
    let delivery: UInt64
    /// The notification's identity, which is unique within the topic.
    let identity: NotificationIdentity
    /// What the program reads as its standard input.
    let input: [UInt8]
    /// Environment variables in addition to those that every program of the agent's gets.
    private(set) var variables: [String: String] = [:]
    /// The launch reason, as an app is told.
    let reason: String

    /// Nil if the message is not one that a handler is started for.
    init?(_ message: AgentMessage) {
        switch message {
        case .deliver(let deliver): self.init(deliver)
        case .responded(let responded): self.init(responded)
        case .fired(let fired): self.init(fired)
        default: return nil
        }
    }

    private init(_ deliver: Deliver) {
        delivery = deliver.delivery
        identity = deliver.identity
        input = deliver.payload
        reason = LaunchReason.remote(deliver).word
        set("APNS_ID", "\(deliver.apnsIdentity)")
        set("PUSH_TYPE", deliver.pushType)
        set("PRIORITY", "\(deliver.priority.rawValue)")
        set("COLLAPSE_ID", deliver.collapseIdentifier)
        set("CHANNEL", deliver.channel.map { "\($0)" })
        if case .at(let moment) = deliver.expiration { set("EXPIRATION", Self.seconds(moment)) }
        set("ACCEPTED_AT", Self.seconds(deliver.acceptedAt))
        set("RECEIVED_AT", deliver.receivedAt.map(Self.seconds))
        set("TRACEPARENT", deliver.traceContext?.parent)
        set("TRACESTATE", deliver.traceContext?.state)
        setFields(of: deliver.payload)
    }

    private init(_ responded: Responded) {
        delivery = responded.delivery
        identity = responded.identity
        reason = LaunchReason.responded(responded).word
        switch responded.subject {
        case .remote(let payload): input = payload
        case .local: input = []
        }
        set("IDENTIFIER", responded.identifier)
        set("ACTION", responded.action)
        set("TEXT", responded.text)
        setFields(of: input)
    }

    private init(_ fired: Fired) {
        delivery = fired.delivery
        identity = fired.identity
        reason = LaunchReason.fired(fired).word
        input = []
        set("IDENTIFIER", fired.notice.request.identifier)
        set("TITLE", fired.notice.request.content.title)
        set("BODY", fired.notice.request.content.body)
    }

    /// Sets the number of the attempt, from 1.
    mutating func set(attempt: Int) { set("ATTEMPT", "\(attempt)") }

    /// The fields of `aps` that have a name of their own (Apple's "Generating a remote notification").
    private mutating func setFields(of payload: [UInt8]) {
        guard let aps = JSONValue.members(ofObject: payload.span)?["aps"]?.object else { return }
        if let alert = aps["alert"]?.object {
            set("TITLE", alert["title"]?.string)
            set("SUBTITLE", alert["subtitle"]?.string)
            set("BODY", alert["body"]?.string)
        } else {
            set("BODY", aps["alert"]?.string)
        }
        set("CATEGORY", aps["category"]?.string)
        set("THREAD_ID", aps["thread-id"]?.string)
        set("SOUND", aps["sound"]?.string)
        set("INTERRUPTION_LEVEL", aps["interruption-level"]?.string)
        set("BADGE", aps["badge"]?.wholeNumber.map(String.init))
        set("CONTENT_AVAILABLE", aps["content-available"]?.wholeNumber.map(String.init))
    }

    /// An environment variable cannot hold U+0000, and a value is cut at a bound.
    private mutating func set(_ name: String, _ value: String?) {
        guard let value else { return }
        let scalars = value.unicodeScalars.map { $0.value == 0 ? "\u{FFFD}" : $0 }
        let text = String(String.UnicodeScalarView(scalars))
        variables["POSTRIDER_\(name)"] = String(
            decoding: text.utf8.prefix(Limits.handlerVariableBytes), as: UTF8.self)
    }

    private static func seconds(_ moment: Moment) -> String { "\(moment.milliseconds / 1000)" }
}

/// The end of a handler's output, for people to read.
struct HandlerTail {
    /// The last lines that are not empty.
    let lines: [String]

    /// The end of these bytes, which need not be text.
    init(_ bytes: [UInt8]) {
        let text = String(decoding: bytes, as: UTF8.self)
        lines = text.split(whereSeparator: \.isNewline)
            .map { DesktopNotification.line(String($0)).trimmed }
            .filter { !$0.isEmpty }
            .suffix(Limits.handlerTailLines.count)
    }

    /// The lines joined to one, at most this many bytes from the end.
    func text(atMost bytes: Int) -> String {
        let text = lines.joined(separator: " | ")
        guard text.utf8.count > bytes else { return text }
        return "…" + String(decoding: text.utf8.suffix(bytes), as: UTF8.self)
    }
}
