/// The last message of either side: why the stream ends, and when the device may return (`Goodbye`).
public struct Goodbye: CourierMessage {
    /// Why a stream ends.
    public enum Reason: UInt32, CaseIterable, Sendable {
        /// No reason was given, or one that this version does not know.
        case unspecified = 0
        /// The side that sends this shuts down.
        case shutdown = 1
        /// A newer connection of the same device was opened.
        case replaced = 2
        /// The device is not, or no longer, enrolled; it must enrol again.
        case removed = 3
        /// The relay is overloaded, or the device reads too slowly.
        case overloaded = 4
        /// The other side broke the protocol. The detail says how.
        case protocolError = 5
        /// Another machine uses the same identity, and keeps its stream. A device of an older version reads
        /// ``unspecified`` and reconnects.
        case duplicated = 6
        /// The device goes to sleep. A relay of an older version reads ``unspecified``.
        case asleep = 7

        /// The gRPC status with which a relay ends the stream after a goodbye with this reason.
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

    /// Why the stream ends.
    public let reason: Reason
    /// Milliseconds for which the device should wait before it returns; 0 leaves that to its own back-off.
    public let retryAfterMilliseconds: UInt32
    /// One sentence for a person.
    public let detail: String

    /// Creates a goodbye from its parts.
    public init(reason: Reason, retryAfterMilliseconds: UInt32, detail: String) {
        self.reason = reason
        self.retryAfterMilliseconds = retryAfterMilliseconds
        self.detail = detail
    }

    /// Decodes the message.
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

    /// Appends the encoded message.
    public func encode(into output: inout [UInt8]) {
        output.appendField(1, UInt64(reason.rawValue))
        output.appendField(2, UInt64(retryAfterMilliseconds))
        output.appendField(3, detail)
    }
}
