public import PostriderNotifications

/// A local notification and the moment that it is about (`LocalNotice`): when a pending one is due next, when another
/// one was.
public struct LocalNotice: CourierMessage {
    /// What the app asked for.
    public let request: LocalRequest
    /// The moment.
    public let at: Moment

    /// A notice from its parts.
    public init(request: LocalRequest, at: Moment) {
        self.request = request
        self.at = at
    }

    /// The message that these bytes are.
    public init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var (request, at) = (
            LocalRequest(identifier: "", content: LocalContent(), trigger: nil), Moment(milliseconds: 0)
        )
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: request = try LocalRequest(decoding: bytes.extracting(try field.range()))
            case 2: at = Moment(milliseconds: try field.int64())
            default: break
            }
        }
        self.init(request: request, at: at)
    }

    /// Appends the message.
    public func encode(into output: inout [UInt8]) {
        output.appendField(1, message: request.encode)
        output.appendField(2, UInt64(bitPattern: at.milliseconds))
    }
}

/// A local notification whose moment has come, on its way to its app (`Fired`).
public struct Fired: CourierMessage {
    /// The number of the delivery on its stream, counted together with all others.
    public let delivery: UInt64
    /// Which firing it is; an app drops a second one of the same identity.
    public let identity: NotificationIdentity
    /// The app.
    public let topic: String
    /// What was asked for, and when it was due.
    public let notice: LocalNotice
    /// When the agent noticed that it was due, which may be later.
    public let firedAt: Moment

    /// A firing from its parts.
    public init(
        delivery: UInt64, identity: NotificationIdentity, topic: String, notice: LocalNotice, firedAt: Moment
    ) {
        self.delivery = delivery
        self.identity = identity
        self.topic = topic
        self.notice = notice
        self.firedAt = firedAt
    }

    /// The message that these bytes are.
    public init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var (delivery, identity, topic) = (UInt64(0), [UInt8](), "")
        var (notice, firedAt) = (try LocalNotice(decoding: Span()), Int64(0))
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: delivery = try field.uint64()
            case 2: identity = try field.bytes(in: bytes)
            case 3: topic = try field.text(in: bytes)
            case 4: notice = try LocalNotice(decoding: bytes.extracting(try field.range()))
            case 5: firedAt = try field.int64()
            default: break
            }
        }
        guard let identity = NotificationIdentity(bytes: identity) else {
            throw .wrongLength(field: 2, expected: 16)
        }
        self.init(
            delivery: delivery, identity: identity, topic: topic, notice: notice,
            firedAt: Moment(milliseconds: firedAt))
    }

    /// Appends the message.
    public func encode(into output: inout [UInt8]) {
        output.appendField(1, delivery)
        output.appendField(2, identity.bytes)
        output.appendField(3, topic)
        output.appendField(4, message: notice.encode)
        output.appendField(5, UInt64(bitPattern: firedAt.milliseconds))
    }
}

/// What the user has done with a notification that was shown, on its way to its app (`Responded`).
public struct Responded: CourierMessage {
    /// The number of the delivery on its stream, counted together with all others.
    public let delivery: UInt64
    /// Which response it is; an app drops a second one of the same identity.
    public let identity: NotificationIdentity
    /// The app.
    public let topic: String
    /// What it was a response to.
    public let subject: Subject
    /// The identifier of the action.
    public let action: String
    /// What the user has written, where the action asks for it.
    public let text: String?
    /// By what the notification is listed as delivered; empty if the agent is of an earlier version.
    public let identifier: String
    /// When it was due, or when the push arrived; nil if the agent is of an earlier version.
    public let at: Moment?

    /// The action of a response by which the user asks for the app's own settings of its notifications.
    public static let settingsAction = "postrider.settings"

    /// The action of a response to the notification itself, not to one of its actions.
    public static let defaultAction = "postrider.default"
    /// The action of a response by which the user has dismissed the notification.
    public static let dismissAction = "postrider.dismiss"

    /// What a response is about.
    public enum Subject: Hashable, Sendable {
        /// A local notification.
        case local(LocalNotice)
        /// A push: its payload.
        case remote(payload: [UInt8])
    }

    /// A response from its parts.
    public init(
        delivery: UInt64, identity: NotificationIdentity, topic: String, subject: Subject, action: String,
        text: String?, identifier: String = "", at: Moment? = nil
    ) {
        self.identifier = identifier
        self.at = at
        self.delivery = delivery
        self.identity = identity
        self.topic = topic
        self.subject = subject
        self.action = action
        self.text = text
    }

    /// The message that these bytes are.
    public init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var (delivery, identity, topic) = (UInt64(0), [UInt8](), "")
        var subject = Subject.remote(payload: [])
        var (action, text, identifier) = ("", String?.none, "")
        var at: Moment?
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: delivery = try field.uint64()
            case 2: identity = try field.bytes(in: bytes)
            case 3: topic = try field.text(in: bytes)
            case 4: subject = .local(try LocalNotice(decoding: bytes.extracting(try field.range())))
            case 5: subject = .remote(payload: try field.bytes(in: bytes))
            case 6: action = try field.text(in: bytes)
            case 7: text = try field.text(in: bytes)
            case 8: identifier = try field.text(in: bytes)
            case 9: at = Moment(milliseconds: try field.int64())
            default: break
            }
        }
        guard let identity = NotificationIdentity(bytes: identity) else {
            throw .wrongLength(field: 2, expected: 16)
        }
        self.init(
            delivery: delivery, identity: identity, topic: topic, subject: subject, action: action,
            text: text, identifier: identifier, at: at)
    }

    /// Appends the message.
    public func encode(into output: inout [UInt8]) {
        output.appendField(1, delivery)
        output.appendField(2, identity.bytes)
        output.appendField(3, topic)
        switch subject {
        case .local(let notice): output.appendField(4, message: notice.encode)
        case .remote(let payload): output.appendField(5, payload)
        }
        output.appendField(6, action)
        if let text { output.appendElement(7, text) }
        output.appendField(8, identifier)
        output.appendPresentField(9, at?.milliseconds)
    }
}

/// What the owner of the device says about an app's alerts (`Authorization`).
public struct Authorization: CourierMessage {
    /// The app.
    public let topic: String
    /// The owner's word.
    public let status: AuthorizationStatus

    /// An authorization from its parts.
    public init(topic: String, status: AuthorizationStatus) {
        self.topic = topic
        self.status = status
    }

    /// The message that these bytes are.
    public init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var (topic, status) = ("", AuthorizationStatus.notDetermined)
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: topic = try field.text(in: bytes)
            case 2: status = AuthorizationStatus(try field.uint64())
            default: break
            }
        }
        self.init(topic: topic, status: status)
    }

    /// Appends the message.
    public func encode(into output: inout [UInt8]) {
        output.appendField(1, topic)
        output.appendField(2, UInt64(status.rawValue))
    }
}
