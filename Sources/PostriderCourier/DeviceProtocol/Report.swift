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

        /// An event from its parts.
        public init(
            _ kind: Kind, of identity: NotificationIdentity, push: UInt64 = 0, other: UInt64 = 0,
            at moment: Moment
        ) {
            self.kind = kind
            self.identity = identity
            self.push = push
            self.other = other
            self.moment = moment
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
        var (push, other) = (UInt64(0), UInt64(0))
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: identity = try field.bytes(in: bytes)
            case 2: kind = try field.uint32()
            case 3: milliseconds = try field.int64()
            case 4: push = try field.uint64()
            case 5: other = try field.uint64()
            default: break
            }
        }
        guard let identity = NotificationIdentity(bytes: identity) else {
            throw .wrongLength(field: 1, expected: NotificationIdentity.byteCount)
        }
        guard let kind = Report.Kind(rawValue: kind) else { return nil }
        self.init(
            kind, of: identity, push: push, other: other, at: Moment(milliseconds: milliseconds))
    }

    fileprivate func encode(into output: inout [UInt8]) {
        output.appendField(1, identity.bytes)
        output.appendField(2, UInt64(kind.rawValue))
        output.appendField(3, UInt64(bitPattern: moment.milliseconds))
        output.appendField(4, push)
        output.appendField(5, other)
    }
}
