public import PostriderNotifications

/// An event of the device (`System`). The agent sends it to every attached app, once on each of its streams. It is
/// not acknowledged, and apps that are not attached miss it.
public enum SystemEvent: CourierMessage {
    /// The connection to the relay changes.
    case link(LinkChange)
    /// The device sleeps or wakes.
    case power(PowerChange)
    /// The clock was set, or the time zone has changed.
    case clock(ClockChange)
    /// The keyboard on screen appears, disappears or moves.
    case keyboard(KeyboardChange)
    /// An event of a later version, which apps ignore.
    case unknown

    /// Decodes the message.
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

    /// Appends the encoded message.
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

/// The connection to the relay changes (`LinkChange`).
public struct LinkChange: CourierMessage {
    /// The phases of a connection. A failed attempt goes from the first to the last.
    public enum Phase: UInt8, CaseIterable, Sendable {
        /// An attempt begins.
        case willConnect = 1
        /// The relay has accepted the device.
        case didConnect = 2
        /// The connection is about to end, or was just found broken.
        case willDisconnect = 3
        /// The connection has ended, or the attempt has failed.
        case didDisconnect = 4
    }

    /// The phase that begins.
    public let phase: Phase
    /// The host and port of the relay.
    public let relay: String
    /// The reason for the last two phases, as a phrase.
    public let reason: String
    /// For the last phase: when the next attempt starts; nil for never.
    public let nextAttemptAt: Moment?

    /// Creates a change from its parts.
    public init(phase: Phase, relay: String, reason: String = "", nextAttemptAt: Moment? = nil) {
        self.phase = phase
        self.relay = relay
        self.reason = reason
        self.nextAttemptAt = nextAttemptAt
    }

    /// Decodes the message.
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

    /// Appends the encoded message.
    public func encode(into output: inout [UInt8]) {
        output.appendField(1, UInt64(phase.rawValue))
        output.appendField(2, relay)
        output.appendField(3, reason)
        output.appendPresentField(4, nextAttemptAt?.milliseconds)
    }
}

/// The device sleeps or wakes (`PowerChange`).
public struct PowerChange: CourierMessage {
    /// What happens to the device.
    public enum Phase: UInt8, CaseIterable, Sendable {
        /// The device is about to sleep, and waits a moment for ``AppMessage/ready(sleep:)``.
        case willSleep = 1
        /// The device has woken, or did not sleep after all.
        case didWake = 2
    }

    /// What happens.
    public let phase: Phase
    /// The number of the sleep, counted by the agent.
    public let sleep: UInt64

    /// Creates a change from its parts.
    public init(phase: Phase, sleep: UInt64) {
        self.phase = phase
        self.sleep = sleep
    }

    /// Decodes the message.
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

    /// Appends the encoded message.
    public func encode(into output: inout [UInt8]) {
        output.appendField(1, UInt64(phase.rawValue))
        output.appendField(2, sleep)
    }
}

/// The clock was set, or the time zone has changed (`ClockChange`).
public struct ClockChange: CourierMessage {
    /// Milliseconds by which the clock was set forward; negative if it was set back; nil if it was not set.
    public let shiftMilliseconds: Int64?
    /// The new time zone; nil if it has not changed.
    public let timeZone: String?

    /// Creates a change from its parts.
    public init(shiftMilliseconds: Int64? = nil, timeZone: String? = nil) {
        self.shiftMilliseconds = shiftMilliseconds
        self.timeZone = timeZone
    }

    /// Decodes the message.
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

    /// Appends the encoded message.
    public func encode(into output: inout [UInt8]) {
        output.appendPresentField(1, shiftMilliseconds)
        if let timeZone { output.appendElement(2, timeZone) }
    }
}
