/// What a peer of the device protocol did wrong. Each error is one sentence and has the gRPC status that ends
/// the stream.
public enum CourierError: Error, Hashable, Sendable {
    /// A message ends in the middle of a field, or a field is longer than what holds it.
    case truncated
    /// A varint has more than ten bytes or more than 64 bits.
    case overlongVarint
    /// A tag holds field number 0, one above 2²⁹ − 1, or a wire type that does not exist.
    case invalidTag
    /// A field is a group, which proto3 does not have.
    case group(field: UInt32)
    /// A field that we know comes with a wire type that is not its own.
    case wrongWireType(field: UInt32)
    /// A string is not UTF-8.
    case invalidText(field: UInt32)
    /// A field of fixed length has another length. A field that is missing has length 0.
    case wrongLength(field: UInt32, expected: Int)
    /// A string is longer than its bound in bytes.
    case textTooLong(field: UInt32, limit: Int)
    /// Repeated fields have more elements than may be.
    case tooMany(field: UInt32, limit: Int)
    /// A field holds a value of an enumeration that we do not know and cannot pass over.
    case unknownValue(field: UInt32)
    /// A message leaves out what must be one of several fields; these are their names.
    case missingChoice(of: String, fields: String)
    /// A gRPC message announces more bytes than the receiver takes.
    case messageTooLarge(bytes: Int, limit: Int)
    /// A gRPC message is compressed; none of our messages is worth it.
    case compressed
    /// A gRPC message prefix has a flag other than 0 and 1.
    case invalidPrefix
    /// A message came where the protocol does not allow it; the sentence says which and why.
    case outOfOrder(String)

    /// The status with which the stream ends.
    public var status: GRPCStatus {
        switch self {
        case .truncated, .overlongVarint, .invalidTag, .group, .wrongWireType, .invalidText, .wrongLength,
            .textTooLong, .tooMany, .unknownValue, .missingChoice:
            .invalidArgument
        case .messageTooLarge: .resourceExhausted
        case .compressed: .unimplemented
        case .invalidPrefix: .internalError
        case .outOfOrder: .failedPrecondition
        }
    }

    /// What a receiver says on a stream that it ends for this error.
    public var goodbye: Goodbye {
        Goodbye(reason: .protocolError, retryAfterMilliseconds: 0, detail: description)
    }
}

extension CourierError: CustomStringConvertible {
    /// One sentence, fit for `grpc-message`.
    public var description: String {
        switch self {
        case .truncated: "The message ends in the middle of a field."
        case .overlongVarint: "A varint has more than 64 bits."
        case .invalidTag: "A field has an impossible number or wire type."
        case .group(let field): "Field \(field) is a group; proto3 has none."
        case .wrongWireType(let field): "Field \(field) has another wire type than its definition."
        case .invalidText(let field): "Field \(field) is a string that is not UTF-8."
        case .wrongLength(let field, let expected): "Field \(field) must have exactly \(expected) bytes."
        case .textTooLong(let field, let limit): "Field \(field) may have at most \(limit) bytes."
        case .tooMany(let field, let limit): "Field \(field) comes more often than \(limit) times."
        case .unknownValue(let field): "Field \(field) has a value that is not in its definition."
        case .missingChoice(let message, let fields): "\(message): it must have one of \(fields)."
        case .messageTooLarge(let bytes, let limit):
            "A message of \(bytes) bytes is above the limit of \(limit)."
        case .compressed: "Compressed messages are not supported; send them with grpc-encoding identity."
        case .invalidPrefix: "A message prefix has a flag that gRPC does not define."
        case .outOfOrder(let sentence): sentence
        }
    }
}
