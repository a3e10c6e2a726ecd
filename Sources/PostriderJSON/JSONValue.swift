/// A JSON value as every reader of a payload is given it: the agent, PostriderKit and, in Python, `deploy/examples`.
///
/// Whatever the relay accepts is read, by these rules:
///
/// - A number without fraction and exponent that 64 bits hold is an integer. Every other number is a `Double`; one
///   that is
///   too large for a `Double` (`1e400`) is its own text.
/// - An escape of half a surrogate pair (`\ud83d` alone) is U+FFFD.
/// - Of two members with the same name the last counts. Names that Unicode regards as equal are the same name.
public enum JSONValue: Hashable, Sendable {
    /// `null`.
    case null
    /// `true` or `false`.
    case boolean(Bool)
    /// A number without fraction and exponent, of −2⁶³ to 2⁶³−1.
    case integer(Int64)
    /// A number without fraction and exponent, of 2⁶³ to 2⁶⁴−1.
    case unsigned(UInt64)
    /// Any other number that a `Double` holds, rounded to the nearest one.
    case double(Double)
    /// A text, or a number beyond a `Double` as it was written.
    case string(String)
    /// Values in order.
    case array([JSONValue])
    /// Values by name.
    case object([String: JSONValue])

    /// The members of the JSON object that these bytes are; nil where ``JSONSyntax`` does not accept them.
    public static func members(ofObject bytes: Span<UInt8>) -> [String: JSONValue]? {
        guard JSONSyntax.isObject(bytes) else { return nil }
        var reader = JSONReader()
        guard case .object(let members) = reader.value(bytes) else { return nil }
        return members
    }

    /// The text; nil where this is something else.
    public var string: String? { if case .string(let value) = self { value } else { nil } }

    /// The values by name; nil where this is something else.
    public var object: [String: JSONValue]? { if case .object(let value) = self { value } else { nil } }

    /// The number; nil where this is something else.
    public var double: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .unsigned(let value): Double(value)
        case .double(let value): value
        case .null, .boolean, .string, .array, .object: nil
        }
    }

    /// The number, where it is whole and 64 bits hold it, however it was written (`3`, `3.0`, `3e0`); nil otherwise.
    public var wholeNumber: Int64? {
        switch self {
        case .integer(let value): value
        case .double(let value): Int64(exactly: value)
        case .null, .boolean, .unsigned, .string, .array, .object: nil
        }
    }
}
