public import PostriderNotifications

/// Something that happens to the device (`System`). Every attached app is told, once on each of its streams. It is not
/// handled as deliveries are, and gone where nobody listens.
public enum SystemEvent: CourierMessage {
    /// The link to the relay comes or goes.
    case link(LinkChange)
    /// The device sleeps or wakes.
    case power(PowerChange)
    /// Clock or time zone are others than before.
    case clock(ClockChange)
    /// The keyboard on screen comes, goes or moves.
    case keyboard(KeyboardChange)
    /// An event of a later version: passed over.
    case unknown

    /// The message that these bytes are.
    public init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        self = .unknown
        while let field = try reader.next(in: bytes) {
            guard (1...4).contains(field.number) else { continue }
            let content = bytes.extracting(try field.range())
            switch field.number {
            case 1: self = .link(try LinkChange(decoding: content))
            case 2: self = .power(try PowerChange(decoding: content))
            case 3: self = .clock(try ClockChange(decoding: content))
            default: self = .keyboard(try KeyboardChange(decoding: content))
            }
        }
    }

    /// Appends the message.
    public func encode(into output: inout [UInt8]) {
        switch self {
        case .link(let change): output.appendField(1, message: change.encode)
        case .power(let change): output.appendField(2, message: change.encode)
        case .clock(let change): output.appendField(3, message: change.encode)
        case .keyboard(let change): output.appendField(4, message: change.encode)
        case .unknown: break
        }
    }
}

/// The link to the relay comes or goes (`LinkChange`).
public struct LinkChange: CourierMessage {
    /// What a link goes through. An attempt that fails goes from the first to the last.
    public enum Phase: UInt8, CaseIterable, Sendable {
        /// An attempt begins.
        case willConnect = 1
        /// The relay has let the device in.
        case didConnect = 2
        /// A link that was up is about to go, or has just been found gone.
        case willDisconnect = 3
        /// The link is gone, or the attempt has failed.
        case didDisconnect = 4
    }

    /// What happens.
    public let phase: Phase
    /// Where the relay is: host and port.
    public let relay: String
    /// Why, for the last two phases: one phrase.
    public let reason: String
    /// When it is tried again, for the last phase; nil: not any more.
    public let nextAttemptAt: Moment?

    /// A change from its parts.
    public init(phase: Phase, relay: String, reason: String = "", nextAttemptAt: Moment? = nil) {
        self.phase = phase
        self.relay = relay
        self.reason = reason
        self.nextAttemptAt = nextAttemptAt
    }

    /// The message that these bytes are.
    public init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var (phase, relay, reason, next) = (Phase.willConnect, "", "", Moment?.none)
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: phase = try field.choice(or: phase)
            case 2: relay = try field.text(in: bytes)
            case 3: reason = try field.text(in: bytes)
            case 4: next = Moment(milliseconds: try field.int64())
            default: break
            }
        }
        self.init(phase: phase, relay: relay, reason: reason, nextAttemptAt: next)
    }

    /// Appends the message.
    public func encode(into output: inout [UInt8]) {
        output.appendField(1, UInt64(phase.rawValue))
        output.appendField(2, relay)
        output.appendField(3, reason)
        output.appendPresentField(4, nextAttemptAt?.milliseconds)
    }
}

/// The device sleeps or wakes (`PowerChange`).
public struct PowerChange: CourierMessage {
    /// What the device does.
    public enum Phase: UInt8, CaseIterable, Sendable {
        /// It waits for a moment: for ``AppMessage/ready(sleep:)``.
        case willSleep = 1
        /// It is awake, or was kept from sleeping.
        case didWake = 2
    }

    /// What happens.
    public let phase: Phase
    /// Which sleep it is, counted by the agent.
    public let sleep: UInt64

    /// A change from its parts.
    public init(phase: Phase, sleep: UInt64) {
        self.phase = phase
        self.sleep = sleep
    }

    /// The message that these bytes are.
    public init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var (phase, sleep) = (Phase.didWake, UInt64(0))
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: phase = try field.choice(or: phase)
            case 2: sleep = try field.uint64()
            default: break
            }
        }
        self.init(phase: phase, sleep: sleep)
    }

    /// Appends the message.
    public func encode(into output: inout [UInt8]) {
        output.appendField(1, UInt64(phase.rawValue))
        output.appendField(2, sleep)
    }
}

/// Clock or time zone are others than before (`ClockChange`).
public struct ClockChange: CourierMessage {
    /// Milliseconds by which the clock was set forward, negative where it was set back; nil: it was not set.
    public let shiftMilliseconds: Int64?
    /// The zone that the device is in now; nil: the same as before.
    public let timeZone: String?

    /// A change from its parts.
    public init(shiftMilliseconds: Int64? = nil, timeZone: String? = nil) {
        self.shiftMilliseconds = shiftMilliseconds
        self.timeZone = timeZone
    }

    /// The message that these bytes are.
    public init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var (shift, zone) = (Int64?.none, String?.none)
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: shift = try field.int64()
            case 2: zone = try field.text(in: bytes)
            default: break
            }
        }
        self.init(shiftMilliseconds: shift, timeZone: zone)
    }

    /// Appends the message.
    public func encode(into output: inout [UInt8]) {
        output.appendPresentField(1, shiftMilliseconds)
        if let timeZone { output.appendElement(2, timeZone) }
    }
}
