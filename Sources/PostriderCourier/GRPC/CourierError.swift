/// What a peer of the device protocol did wrong. Each error has a sentence and the gRPC status that ends the stream.
public enum CourierError: Error, Hashable, Sendable {
    /// A message ends in the middle of a field, or a field is longer than what holds it.
    case truncated
    /// A varint has more than ten bytes or more than 64 bits.
    case overlongVarint
    /// A tag holds field number 0, one above 2²⁹ − 1, or a wire type that does not exist.
    case invalidTag
    /// A field is a group, which proto3 does not have.
    case group(field: UInt32)
    /// A known field has a wire type other than its own.
    case wrongWireType(field: UInt32)
    /// A string is not UTF-8.
    case invalidText(field: UInt32)
    /// A field of fixed length has another length. A field that is missing has length 0.
    case wrongLength(field: UInt32, expected: Int)
    /// A string has more bytes than its limit.
    case textTooLong(field: UInt32, limit: Int)
    /// A repeated field has more elements than its limit.
    case tooMany(field: UInt32, limit: Int)
    /// A field has a value of an enumeration that this version does not know and cannot ignore.
    case unknownValue(field: UInt32)
    /// A message contains none of several fields of which it must contain one; these are their names.
    case missingChoice(of: String, fields: String)
    /// A gRPC message is announced with more bytes than the receiver accepts.
    case messageTooLarge(bytes: Int, limit: Int)
    /// A gRPC message is compressed, which this protocol does not use.
    case compressed
    /// A gRPC message prefix has a flag other than 0 and 1.
    case invalidPrefix
    /// A message was received in a state in which the protocol does not permit it. The sentence says which and why.
    case outOfOrder(String)

    /// The gRPC status that ends the stream.
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

    /// The goodbye that a receiver sends on a stream that it ends for this error.
    public var goodbye: Goodbye {
        Goodbye(reason: .protocolError, retryAfterMilliseconds: 0, detail: description)
    }
}

extension CourierError: CustomStringConvertible {
    /// One sentence, which can be sent as `grpc-message`.
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
