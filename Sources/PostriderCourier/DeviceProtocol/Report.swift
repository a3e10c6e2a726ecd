public import PostriderNotifications

/// What happened to notifications on the device (`Report`). It is only for the relay's trace. It is not acknowledged:
/// a device that wants to know whether it has arrived sends a PING after it (RFC 9113, section 6.7).
public struct Report: CourierMessage {
    /// What can be reported of a notification.
    public enum Kind: UInt32, CaseIterable, Sendable {
        /// The app has handled the notification.
        case handedOver = 1
        /// The notification was shown to the user.
        case shown = 2
        /// The user has responded to the notification.
        case actedOn = 3
        /// A newer notification with the same collapse identifier replaced it on the device before its app got it.
        case replaced = 4
        /// The device had the same push already, with the number ``Event/other``: its app gets one of the two.
        case merged = 5
        /// The agent has started the handler of the notification.
        case begun = 6
        /// The handler has ended with exit code 0. The text is the end of its output.
        case done = 7
        /// The app or handler has failed, and will get the notification again. The text says why.
        case failed = 8
        /// The app or handler has failed as often as permitted, and the notification is a dead letter. The text says
        /// why.
        case gaveUp = 9
        /// The handler has asked to be started later. The text is the end of its output.
        case postponed = 10
    }

    /// One event of one notification.
    public struct Event: Hashable, Sendable {
        /// What happened.
        public let kind: Kind
        /// The notification: its ``Deliver/identity``.
        public let identity: NotificationIdentity
        /// The notification: its ``Deliver/push``; 0 if it had none.
        public let push: UInt64
        /// The ``Deliver/push`` of the notification that came first; 0 for none.
        public let other: UInt64
        /// When it happened, by the device's clock.
        public let moment: Moment
        /// Of ``Kind/handedOver`` and ``Kind/done``: for how many milliseconds the app or handler had it; 0 if that is
        /// not known.
        public let tookMilliseconds: UInt64
        /// Details, at most ``Notifications/Limits/reportTextBytes`` bytes; empty for none.
        public let text: String

        /// Creates an event from its parts. A text that is too long is cut.
        public init(
            _ kind: Kind, of identity: NotificationIdentity, push: UInt64 = 0, other: UInt64 = 0,
            at moment: Moment, tookMilliseconds: UInt64 = 0, text: String = ""
        ) {
            self.kind = kind
            self.identity = identity
            self.push = push
            self.other = other
            self.moment = moment
            self.tookMilliseconds = tookMilliseconds
            self.text =
                text.utf8.count <= Limits.reportTextBytes
                ? text : String(decoding: text.utf8.prefix(Limits.reportTextBytes), as: UTF8.self)
        }
    }

    /// The events in the order in which they happened, at most ``Notifications/Limits/reportEvents``.
    public let events: [Event]

    /// Creates a report of the first ``Notifications/Limits/reportEvents`` of these events.
    public init(_ events: [Event]) { self.events = Array(events.prefix(Limits.reportEvents)) }

    /// Decodes the message. Events of kinds that this version does not know are ignored, and so are events beyond the
    /// limit.
    public init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var events: [Event] = []
        while let field = try reader.next(in: bytes) {
            guard field.number == 1, events.count < Limits.reportEvents else { continue }
            if let event = try Event(decoding: bytes.extracting(try field.range())) { events.append(event) }
        }
        self.events = events
    }

    /// Appends the encoded message.
    public func encode(into output: inout [UInt8]) {
        for event in events { output.appendField(1, message: event.encode) }
    }
}

extension Report.Event {
    /// Decodes an event; nil if this version does not know its kind.
    fileprivate init?(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var (identity, kind, milliseconds) = ([UInt8](), UInt32(0), Int64(0))
        var (push, other, took, text) = (UInt64(0), UInt64(0), UInt64(0), "")
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: identity = try field.bytes(in: bytes)
            case 2: kind = try field.uint32()
            case 3: milliseconds = try field.int64()
            case 4: push = try field.uint64()
            case 5: other = try field.uint64()
            case 6: text = String(decoding: try field.bytes(in: bytes), as: UTF8.self)
            case 7: took = try field.uint64()
            default: break
            }
        }
        guard let identity = NotificationIdentity(bytes: identity) else {
            throw .wrongLength(field: 1, expected: NotificationIdentity.byteCount)
        }
        guard let kind = Report.Kind(rawValue: kind) else { return nil }
        self.init(
            kind, of: identity, push: push, other: other, at: Moment(milliseconds: milliseconds),
            tookMilliseconds: took, text: text)
    }

    fileprivate func encode(into output: inout [UInt8]) {
        output.appendField(1, identity.bytes)
        output.appendField(2, UInt64(kind.rawValue))
        output.appendField(3, UInt64(bitPattern: moment.milliseconds))
        output.appendField(4, push)
        output.appendField(5, other)
        output.appendField(6, Array(text.utf8))
        output.appendField(7, tookMilliseconds)
    }
}
