/// The last message of either side: why the link ends and when the device may return (`Goodbye`).
public struct Goodbye: CourierMessage {
    /// Why a link ends.
    public enum Reason: UInt32, CaseIterable, Sendable {
        /// No reason was given, or one that this version does not know.
        case unspecified = 0
        /// The speaker stops.
        case shutdown = 1
        /// A newer connection of the same device was opened.
        case replaced = 2
        /// The device is not, or no longer, enrolled; only a new enrolment helps.
        case removed = 3
        /// The relay has too much to do, or the device takes too little of what it is sent.
        case overloaded = 4
        /// The other side broke the protocol; the detail says how.
        case protocolError = 5
        /// Another machine uses the same identity, and keeps the link. A device of an older version takes it for
        /// ``unspecified`` and returns.
        case duplicated = 6
        /// The device goes to sleep. A relay of an older version takes it for ``unspecified``.
        case asleep = 7

        /// The status with which a relay ends the stream after a goodbye of this reason.
        public var status: GRPCStatus {
            switch self {
            case .unspecified, .shutdown, .asleep: .unavailable
            case .replaced, .duplicated: .aborted
            case .removed: .unauthenticated
            case .overloaded: .resourceExhausted
            case .protocolError: .failedPrecondition
            }
        }
    }

    /// Why.
    public let reason: Reason
    /// Milliseconds before which the device should not return; 0 leaves it to its own back-off.
    public let retryAfterMilliseconds: UInt32
    /// One sentence for a person.
    public let detail: String

    /// A goodbye from its parts.
    public init(reason: Reason, retryAfterMilliseconds: UInt32, detail: String) {
        self.reason = reason
        self.retryAfterMilliseconds = retryAfterMilliseconds
        self.detail = detail
    }

    /// The message that these bytes are.
    public init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var reason = Reason.unspecified
        var retryAfterMilliseconds: UInt32 = 0
        var detail = ""
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: reason = Reason(rawValue: try field.uint32()) ?? .unspecified
            case 2: retryAfterMilliseconds = try field.uint32()
            case 3: detail = try field.text(in: bytes)
            default: break
            }
        }
        self.init(reason: reason, retryAfterMilliseconds: retryAfterMilliseconds, detail: detail)
    }

    /// Appends the message.
    public func encode(into output: inout [UInt8]) {
        output.appendField(1, UInt64(reason.rawValue))
        output.appendField(2, UInt64(retryAfterMilliseconds))
        output.appendField(3, detail)
    }
}
