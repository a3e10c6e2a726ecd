/// What a notification says: values by name, in the shape of JSON.
public typealias UserInfo = [String: UserInfoValue]

/// One value of a ``UserInfo``, in the shape of JSON. Its `Codable` form is JSON's own.
public enum UserInfoValue: Hashable, Sendable {
    /// `null`.
    case null
    /// `true` or `false`.
    case boolean(Bool)
    /// A number without fraction and exponent, of −2⁶³ to 2⁶³−1.
    case integer(Int64)
    /// A number without fraction and exponent that an `Int64` cannot hold, of 2⁶³ to 2⁶⁴−1.
    case unsigned(UInt64)
    /// Any other number that a `Double` holds, rounded to the nearest one.
    case double(Double)
    /// A text. A number in a payload that is too large for a `Double` (`1e400`) is the text that the provider wrote.
    case string(String)
    /// Values in order.
    case array([UserInfoValue])
    /// Values by name.
    case dictionary(UserInfo)

    /// The truth value, nil where this is something else.
    public var boolean: Bool? { if case .boolean(let value) = self { value } else { nil } }
    /// The number without a fraction, nil where this is something else or more than an `Int64` holds.
    public var integer: Int64? { if case .integer(let value) = self { value } else { nil } }
    /// The number without a fraction and not below 0, nil where this is something else.
    public var unsigned: UInt64? {
        switch self {
        case .unsigned(let value): value
        case .integer(let value): UInt64(exactly: value)
        case .null, .boolean, .double, .string, .array, .dictionary: nil
        }
    }
    /// The number, with or without a fraction, nil where this is something else.
    public var double: Double? {
        switch self {
        case .double(let value): value
        case .integer(let value): Double(value)
        case .unsigned(let value): Double(value)
        case .null, .boolean, .string, .array, .dictionary: nil
        }
    }
    /// The text, nil where this is something else.
    public var string: String? { if case .string(let value) = self { value } else { nil } }
    /// The values in order, nil where this is something else.
    public var array: [UserInfoValue]? { if case .array(let value) = self { value } else { nil } }
    /// The values by name, nil where this is something else.
    public var dictionary: UserInfo? { if case .dictionary(let value) = self { value } else { nil } }

    /// The value of this name, nil where this is no dictionary or has none, so that `info["aps"]?["alert"]?.string`
    /// reads as what it means.
    public subscript(name: String) -> UserInfoValue? { dictionary?[name] }
}

extension UserInfoValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByNilLiteral, ExpressibleByArrayLiteral,
    ExpressibleByDictionaryLiteral
{
    /// A text.
    public init(stringLiteral value: String) { self = .string(value) }
    /// A number without a fraction.
    public init(integerLiteral value: Int64) { self = .integer(value) }
    /// A number.
    public init(floatLiteral value: Double) { self = .double(value) }
    /// A truth value.
    public init(booleanLiteral value: Bool) { self = .boolean(value) }
    /// `null`.
    public init(nilLiteral: ()) { self = .null }
    /// Values in order.
    public init(arrayLiteral elements: UserInfoValue...) { self = .array(elements) }
    /// Values by name; of a name given twice, the last.
    public init(dictionaryLiteral elements: (String, UserInfoValue)...) {
        self = .dictionary(Dictionary(elements) { _, last in last })
    }
}
