/// A JSON value as every reader of payloads gets it: the agent, PostriderKit and, in Python, `deploy/examples`.
///
/// It can represent everything that the relay accepts, by these rules:
///
/// - A number without fraction and exponent that fits into 64 bits is an integer. Every other number is a `Double`;
///   one that is too large for a `Double` (`1e400`) is its own text.
/// - An escape of half a surrogate pair (`\ud83d` alone) is U+FFFD.
/// - If a name occurs twice, the last member counts. Names that are canonically equivalent in Unicode are the same
///   name.
public enum JSONValue: Hashable, Sendable {
    /// `null`.
    case null
    /// `true` or `false`.
    case boolean(Bool)
    /// A number without fraction and exponent, from −2⁶³ to 2⁶³−1.
    case integer(Int64)
    /// A number without fraction and exponent, from 2⁶³ to 2⁶⁴−1.
    case unsigned(UInt64)
    /// Any other number in the range of a `Double`, rounded to the nearest one.
    case double(Double)
    /// A text, or a number that exceeds a `Double` as it was written.
    case string(String)
    /// An array of values.
    case array([JSONValue])
    /// Values by name.
    case object([String: JSONValue])

    /// Reads the members of a JSON object; nil if ``JSONSyntax`` does not accept the bytes.
    public static func members(ofObject bytes: Span<UInt8>) -> [String: JSONValue]? {
        guard JSONSyntax.isObject(bytes) else { return nil }
        var reader = JSONReader()
        guard case .object(let members) = reader.value(bytes) else { return nil }
        return members
    }

    /// The text; nil if the value is of another type.
    public var string: String? { if case .string(let value) = self { value } else { nil } }

    /// The values by name; nil if the value is of another type.
    public var object: [String: JSONValue]? { if case .object(let value) = self { value } else { nil } }

    /// The number; nil if the value is of another type.
    public var double: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .unsigned(let value): Double(value)
        case .double(let value): value
        case .null, .boolean, .string, .array, .object: nil
        }
    }

    /// The number if it is whole and fits into 64 bits, in any notation (`3`, `3.0`, `3e0`); nil otherwise.
    public var wholeNumber: Int64? {
        switch self {
        case .integer(let value): value
        case .double(let value): Int64(exactly: value)
        case .null, .boolean, .unsigned, .string, .array, .object: nil
        }
    }
}
