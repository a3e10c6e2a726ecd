/// A value with a D-Bus type (D-Bus specification, "Type System").
public indirect enum BusValue: Equatable, Sendable {
    /// True or false.
    case boolean(Bool)
    /// 8 bits.
    case byte(UInt8)
    /// 16 bits, signed.
    case int16(Int16)
    /// 16 bits.
    case uint16(UInt16)
    /// 32 bits, signed.
    case int32(Int32)
    /// 32 bits.
    case uint32(UInt32)
    /// 64 bits, signed.
    case int64(Int64)
    /// 64 bits.
    case uint64(UInt64)
    /// A number with a fraction.
    case double(Double)
    /// A text. Characters that a bus does not carry are replaced when it is sent; see ``carried(_:)``.
    case string(String)
    /// An object path.
    case objectPath(String)
    /// A type signature.
    case signature(String)
    /// A file descriptor. It can be received, but not sent.
    case descriptor(BusDescriptor)
    /// Values of one type, which has this signature. A dictionary is an array of entries, such as `{sv}`.
    case array(of: String, [BusValue])
    /// An entry of a dictionary.
    case entry(BusValue, BusValue)
    /// A structure: values of several types.
    case structure([BusValue])
    /// A value together with its type.
    case variant(BusValue)

    /// An array of texts: `as`.
    public static func strings(_ texts: [String]) -> BusValue { .array(of: "s", texts.map(BusValue.string)) }

    /// A dictionary of named values, `a{sv}`, in this order.
    public static func named(_ values: [(name: String, value: BusValue)]) -> BusValue {
        .array(of: "{sv}", values.map { .entry(.string($0.name), .variant($0.value)) })
    }

    /// The signature of the value's type.
    public var signature: String {
        switch self {
        case .boolean: "b"
        case .byte: "y"
        case .int16: "n"
        case .uint16: "q"
        case .int32: "i"
        case .uint32: "u"
        case .int64: "x"
        case .uint64: "t"
        case .double: "d"
        case .string: "s"
        case .objectPath: "o"
        case .signature: "g"
        case .descriptor: "h"
        case .array(let element, _): "a" + element
        case .entry(let key, let value): "{\(key.signature)\(value.signature)}"
        case .structure(let values): "(\(values.map(\.signature).joined()))"
        case .variant: "v"
        }
    }

    /// The text as a bus can carry it: U+FFFD replaces each zero and each noncharacter (Unicode 23.7).
    ///
    /// A message with a zero byte in a text is invalid (D-Bus specification, "Valid Strings"). Noncharacters are
    /// valid there since version 0.21, but libsystemd refuses a whole message because of one.
    public static func carried(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: { !$0.isCarried }) else { return text }
        return String(String.UnicodeScalarView(text.unicodeScalars.map { $0.isCarried ? $0 : "\u{FFFD}" }))
    }

    // MARK: What a receiver asks for; nil where the value is something else.

    /// The value of a text, an object path or a signature; nil for other types.
    public var text: String? {
        switch self {
        case .string(let text), .objectPath(let text), .signature(let text): text
        default: nil
        }
    }

    /// The value of an integer of any width; nil for other types.
    public var integer: Int64? {
        switch self {
        case .byte(let value): Int64(value)
        case .int16(let value): Int64(value)
        case .uint16(let value): Int64(value)
        case .int32(let value): Int64(value)
        case .uint32(let value): Int64(value)
        case .int64(let value): value
        case .uint64(let value): Int64(exactly: value)
        default: nil
        }
    }

    /// The value of a boolean; nil for other types.
    public var isTrue: Bool? {
        if case .boolean(let value) = self { value } else { nil }
    }

    /// The values of an array of texts; nil for other types.
    public var texts: [String]? {
        if case .array("s", let values) = self { values.compactMap(\.text) } else { nil }
    }

    /// The values of a dictionary of named values; nil for other types. If a name occurs twice, the last value
    /// counts.
    public var namedValues: [String: BusValue]? {
        guard case .array("{sv}", let entries) = self else { return nil }
        return entries.reduce(into: [:]) { named, entry in
            if case .entry(.string(let name), .variant(let value)) = entry { named[name] = value }
        }
    }
}

extension Unicode.Scalar {
    fileprivate var isCarried: Bool {
        value != 0 && value & 0xFFFE != 0xFFFE && !(0xFDD0...0xFDEF).contains(value)
    }
}
