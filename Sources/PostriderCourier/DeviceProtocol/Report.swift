public import PostriderNotifications

/// What became of notifications at the device (`Report`): for the relay's trace, and for nothing else. It is not
/// answered, and one that is lost is not sent again.
public struct Report: CourierMessage {
    /// What may be reported of a notification.
    public enum Kind: UInt32, CaseIterable, Sendable {
        /// Its app has taken it.
        case handedOver = 1
        /// The user was shown it.
        case shown = 2
        /// The user has acted on it.
        case actedOn = 3
        /// A newer one with its collapse identifier took its place on the device before its app was given it.
        case replaced = 4
        /// The device had the same push already, as ``Event/other``: its app is given one of the two.
        case merged = 5
        /// The agent has started its handler.
        case begun = 6
        /// Its handler has ended with exit code 0; the text is what it wrote last.
        case done = 7
        /// Its app or handler has failed at it, and is given it again; the text says why.
        case failed = 8
        /// Its app or handler has failed at it as often as may be: it is a dead letter. The text says why.
        case gaveUp = 9
        /// Its handler asks to be started later; the text is what it wrote last.
        case postponed = 10
    }

    /// One thing that became of one notification.
    public struct Event: Hashable, Sendable {
        /// What.
        public let kind: Kind
        /// Of which, as ``Deliver/identity`` had it.
        public let identity: NotificationIdentity
        /// Of which, as ``Deliver/push`` had it; 0 where it had none.
        public let push: UInt64
        /// The ``Deliver/push`` of the one that came before; 0 where there is none.
        public let other: UInt64
        /// When, by the device's clock.
        public let moment: Moment
        /// What there is to say about it, at most ``Notifications/Limits/reportTextBytes``; empty for nothing.
        public let text: String

        /// An event from its parts. A text that is too long is cut.
        public init(
            _ kind: Kind, of identity: NotificationIdentity, push: UInt64 = 0, other: UInt64 = 0,
            at moment: Moment, text: String = ""
        ) {
            self.kind = kind
            self.identity = identity
            self.push = push
            self.other = other
            self.moment = moment
            self.text =
                text.utf8.count <= Limits.reportTextBytes
                ? text : String(decoding: text.utf8.prefix(Limits.reportTextBytes), as: UTF8.self)
        }
    }

    /// In the order in which they happened, at most ``Notifications/Limits/reportEvents``.
    public let events: [Event]

    /// A report of these events; it has room for no more than the first ``Notifications/Limits/reportEvents``.
    public init(_ events: [Event]) { self.events = Array(events.prefix(Limits.reportEvents)) }

    /// The message that these bytes are. Kinds of a later version are passed over, and events that are too many.
    public init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var events: [Event] = []
        while let field = try reader.next(in: bytes) {
            guard field.number == 1, events.count < Limits.reportEvents else { continue }
            if let event = try Event(decoding: bytes.extracting(try field.range())) { events.append(event) }
        }
        self.events = events
    }

    /// Appends the message.
    public func encode(into output: inout [UInt8]) {
        for event in events { output.appendField(1, message: event.encode) }
    }
}

extension Report.Event {
    /// Nil: of a kind that this version does not know.
    fileprivate init?(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var (identity, kind, milliseconds) = ([UInt8](), UInt32(0), Int64(0))
        var (push, other, text) = (UInt64(0), UInt64(0), "")
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: identity = try field.bytes(in: bytes)
            case 2: kind = try field.uint32()
            case 3: milliseconds = try field.int64()
            case 4: push = try field.uint64()
            case 5: other = try field.uint64()
            case 6: text = String(decoding: try field.bytes(in: bytes), as: UTF8.self)
            default: break
            }
        }
        guard let identity = NotificationIdentity(bytes: identity) else {
            throw .wrongLength(field: 1, expected: NotificationIdentity.byteCount)
        }
        guard let kind = Report.Kind(rawValue: kind) else { return nil }
        self.init(
            kind, of: identity, push: push, other: other, at: Moment(milliseconds: milliseconds),
            text: text)
    }

    fileprivate func encode(into output: inout [UInt8]) {
        output.appendField(1, identity.bytes)
        output.appendField(2, UInt64(kind.rawValue))
        output.appendField(3, UInt64(bitPattern: moment.milliseconds))
        output.appendField(4, push)
        output.appendField(5, other)
        output.appendField(6, Array(text.utf8))
    }
}
