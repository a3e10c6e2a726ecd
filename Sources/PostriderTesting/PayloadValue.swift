import PostriderJSON

/// A value in a payload, in the form of JSON. Literals of Swift are values: `["aps": ["badge": 3]]`.
///
/// PostriderKit has `UserInfoValue` of the same form. Each product has a type of its own, because users of a type from
/// another module would have to import that module to use its members (Swift's `MemberImportVisibility`).
public enum PayloadValue: Hashable, Sendable {
    /// `null`.
    case null
    /// `true` or `false`.
    case boolean(Bool)
    /// A number without fraction and exponent, from −2⁶³ to 2⁶³−1.
    case integer(Int64)
    /// Any other number, rounded to the nearest `Double`.
    case double(Double)
    /// A text. A number that is too large for a `Double` is its own text.
    case string(String)
    /// An array of values.
    case array([PayloadValue])
    /// Values by name.
    case object([String: PayloadValue])

    /// The truth value; nil if the value is of another type.
    public var boolean: Bool? { if case .boolean(let value) = self { value } else { nil } }
    /// The number without a fraction; nil if the value is of another type.
    public var integer: Int64? { if case .integer(let value) = self { value } else { nil } }
    /// The number, with or without a fraction; nil if the value is of another type.
    public var double: Double? {
        switch self {
        case .double(let value): value
        case .integer(let value): Double(value)
        case .null, .boolean, .string, .array, .object: nil
        }
    }
    /// The text; nil if the value is of another type.
    public var string: String? { if case .string(let value) = self { value } else { nil } }
    /// The array; nil if the value is of another type.
    public var array: [PayloadValue]? { if case .array(let value) = self { value } else { nil } }
    /// The values by name; nil if the value is of another type.
    public var object: [String: PayloadValue]? { if case .object(let value) = self { value } else { nil } }

    /// The value with this name; nil if this is not an object, or has no such value.
    public subscript(name: String) -> PayloadValue? { object?[name] }
}

extension PayloadValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByNilLiteral, ExpressibleByArrayLiteral,
    ExpressibleByDictionaryLiteral
{
    /// Creates a text.
    public init(stringLiteral value: String) { self = .string(value) }
    /// Creates a number without a fraction.
    public init(integerLiteral value: Int64) { self = .integer(value) }
    /// Creates a number.
    public init(floatLiteral value: Double) { self = .double(value) }
    /// Creates a truth value.
    public init(booleanLiteral value: Bool) { self = .boolean(value) }
    /// Creates `null`.
    public init(nilLiteral: ()) { self = .null }
    /// Creates an array.
    public init(arrayLiteral elements: PayloadValue...) { self = .array(elements) }
    /// Creates values by name. If a name occurs twice, the last value counts.
    public init(dictionaryLiteral elements: (String, PayloadValue)...) {
        self = .object(Dictionary(elements) { _, last in last })
    }
}

extension PayloadValue: CustomStringConvertible {
    /// The value as JSON, with members in the order of their names.
    public var description: String {
        json.bytes.map { String(decoding: $0, as: UTF8.self) } ?? "(a number that JSON does not have)"
    }

    init(_ value: JSONValue) {
        self =
            switch value {
            case .null: .null
            case .boolean(let value): .boolean(value)
            case .integer(let value): .integer(value)
            case .unsigned(let value): .double(Double(value))
            case .double(let value): .double(value)
            case .string(let value): .string(value)
            case .array(let values): .array(values.map(PayloadValue.init))
            case .object(let members): .object(members.mapValues(PayloadValue.init))
            }
    }

    private var json: JSONValue {
        switch self {
        case .null: .null
        case .boolean(let value): .boolean(value)
        case .integer(let value): .integer(value)
        case .double(let value): .double(value)
        case .string(let value): .string(value)
        case .array(let values): .array(values.map(\.json))
        case .object(let members): .object(members.mapValues(\.json))
        }
    }
}

/// A JSON object that the relay has answered or printed.
struct Answer {
    private let members: [String: JSONValue]

    /// Reads an object; nil if the text is none, or has more than 64 levels.
    init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard let members = JSONValue.members(ofObject: bytes.span) else { return nil }
        self.members = members
    }

    subscript(name: String) -> PayloadValue? { members[name].map(PayloadValue.init) }
}
