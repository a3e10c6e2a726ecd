public import PostriderNotifications

/// A local notification with a moment (`LocalNotice`): when a pending one is next due, or when another one was due.
public struct LocalNotice: CourierMessage {
    /// The request of the app.
    public let request: LocalRequest
    /// When the notification is next due or was due.
    public let at: Moment

    /// Creates a notice from its parts.
    public init(request: LocalRequest, at: Moment) {
        self.request = request
        self.at = at
    }

    /// Decodes the message.
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

    /// Appends the encoded message.
    public func encode(into output: inout [UInt8]) {
        output.appendField(1, message: request.encode)
        output.appendField(2, UInt64(bitPattern: at.milliseconds))
    }
}

/// A due local notification on its way to its app (`Fired`).
public struct Fired: CourierMessage {
    /// The number of the delivery on its stream, which all deliveries share.
    public let delivery: UInt64
    /// The identity of this firing. An app drops a second one with the same identity.
    public let identity: NotificationIdentity
    /// The topic of the app.
    public let topic: String
    /// The request, and when it was due.
    public let notice: LocalNotice
    /// When the agent noticed that the notification was due, which may be later.
    public let firedAt: Moment

    /// Creates a firing from its parts.
    public init(
        delivery: UInt64, identity: NotificationIdentity, topic: String, notice: LocalNotice, firedAt: Moment
    ) {
        self.delivery = delivery
        self.identity = identity
        self.topic = topic
        self.notice = notice
        self.firedAt = firedAt
    }

    /// Decodes the message.
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

    /// Appends the encoded message.
    public func encode(into output: inout [UInt8]) {
        output.appendField(1, delivery)
        output.appendField(2, identity.bytes)
        output.appendField(3, topic)
        output.appendField(4, message: notice.encode)
        output.appendField(5, UInt64(bitPattern: firedAt.milliseconds))
    }
}

/// The user's response to a notification that was shown, on its way to its app (`Responded`).
public struct Responded: CourierMessage {
    /// The number of the delivery on its stream, which all deliveries share.
    public let delivery: UInt64
    /// The identity of this response. An app drops a second one with the same identity.
    public let identity: NotificationIdentity
    /// The topic of the app.
    public let topic: String
    /// The notification that the user has responded to.
    public let subject: Subject
    /// The identifier of the action that the user has chosen.
    public let action: String
    /// The text that the user has entered; nil if the action asks for none.
    public let text: String?
    /// The identifier under which the notification is listed as delivered; empty if the agent is of an earlier
    /// version.
    public let identifier: String
    /// When the local notification was due or the push arrived; nil if the agent is of an earlier version.
    public let at: Moment?

    /// The action by which the user asks for the app's own notification settings.
    public static let settingsAction = "postrider.settings"

    /// The action if the user has chosen the notification itself and not one of its actions.
    public static let defaultAction = "postrider.default"
    /// The action by which the user has dismissed the notification.
    public static let dismissAction = "postrider.dismiss"

    /// The notification of a response.
    public enum Subject: Hashable, Sendable {
        /// A local notification.
        case local(LocalNotice)
        /// A push, given by its payload.
        case remote(payload: [UInt8])
    }

    /// Creates a response from its parts.
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

    /// Decodes the message.
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

    /// Appends the encoded message.
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

/// The decision of the device's owner about the app's notifications (`Authorization`).
public struct Authorization: CourierMessage {
    /// The topic of the app.
    public let topic: String
    /// The decision.
    public let status: AuthorizationStatus

    /// Creates an authorization from its parts.
    public init(topic: String, status: AuthorizationStatus) {
        self.topic = topic
        self.status = status
    }

    /// Decodes the message.
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

    /// Appends the encoded message.
    public func encode(into output: inout [UInt8]) {
        output.appendField(1, topic)
        output.appendField(2, UInt64(status.rawValue))
    }
}
