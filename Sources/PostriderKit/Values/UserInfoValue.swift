/// The values of a notification by name, in the form of JSON.
public typealias UserInfo = [String: UserInfoValue]

/// One value of a ``UserInfo``, in the form of JSON. It is encoded and decoded as JSON.
public enum UserInfoValue: Hashable, Sendable {
    /// `null`.
    case null
    /// `true` or `false`.
    case boolean(Bool)
    /// A number without fraction and exponent, from −2⁶³ to 2⁶³−1.
    case integer(Int64)
    /// A number without fraction and exponent that exceeds an `Int64`, from 2⁶³ to 2⁶⁴−1.
    case unsigned(UInt64)
    /// Any other number in the range of a `Double`, rounded to the nearest one.
    case double(Double)
    /// A text. A number in a payload that is too large for a `Double` (`1e400`) is the text that the provider wrote.
    case string(String)
    /// An array of values.
    case array([UserInfoValue])
    /// Values by name.
    case dictionary(UserInfo)

    /// The truth value; nil if the value is of another type.
    public var boolean: Bool? { if case .boolean(let value) = self { value } else { nil } }
    /// The number without a fraction; nil if the value is of another type or exceeds an `Int64`.
    public var integer: Int64? { if case .integer(let value) = self { value } else { nil } }
    /// The number without a fraction if it is not negative; nil if the value is of another type.
    public var unsigned: UInt64? {
        switch self {
        case .unsigned(let value): value
        case .integer(let value): UInt64(exactly: value)
        case .null, .boolean, .double, .string, .array, .dictionary: nil
        }
    }
    /// The number, with or without a fraction; nil if the value is of another type.
    public var double: Double? {
        switch self {
        case .double(let value): value
        case .integer(let value): Double(value)
        case .unsigned(let value): Double(value)
        case .null, .boolean, .string, .array, .dictionary: nil
        }
    }
    /// The text; nil if the value is of another type.
    public var string: String? { if case .string(let value) = self { value } else { nil } }
    /// The array; nil if the value is of another type.
    public var array: [UserInfoValue]? { if case .array(let value) = self { value } else { nil } }
    /// The values by name; nil if the value is of another type.
    public var dictionary: UserInfo? { if case .dictionary(let value) = self { value } else { nil } }

    /// The value with this name; nil if this is not a dictionary, or has no such value. So
    /// `info["aps"]?["alert"]?.string` works as it reads.
    public subscript(name: String) -> UserInfoValue? { dictionary?[name] }
}

extension UserInfoValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
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
    public init(arrayLiteral elements: UserInfoValue...) { self = .array(elements) }
    /// Creates values by name. If a name occurs twice, the last value counts.
    public init(dictionaryLiteral elements: (String, UserInfoValue)...) {
        self = .dictionary(Dictionary(elements) { _, last in last })
    }
}
