import PostriderJSON

extension UserInfoValue: Codable {
    /// Decodes a value as the nearest JSON type.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .boolean(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(UInt64.self) {
            self = .unsigned(value)
        } else if let value = try? container.decode(Double.self) {
            self = .double(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([UserInfoValue].self) {
            self = .array(value)
        } else {
            self = .dictionary(try container.decode(UserInfo.self))
        }
    }

    /// Encodes the value as JSON. It throws for infinity and NaN, which JSON does not have.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .boolean(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .unsigned(let value): try container.encode(value)
        case .double(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .dictionary(let value): try container.encode(value)
        }
    }
}

extension UserInfo {
    /// Reads the members of a JSON object, such as a notification's payload.
    ///
    /// It reads everything that the relay accepts as a payload (RFC 8259, UTF-8, at most 64 nested containers). If a
    /// name occurs twice, the last member counts. Half a surrogate pair (`\ud83d` alone) becomes U+FFFD. A number
    /// that exceeds a `Double` becomes its text.
    public init(json bytes: some Sequence<UInt8>) throws(UserInfoError) {
        let bytes = Array(bytes)
        guard let members = JSONValue.members(ofObject: bytes.span) else { throw UserInfoError() }
        self = members.mapValues(UserInfoValue.init)
    }

    /// The user info as a JSON object from which ``init(json:)`` reads the same values; nil if a number in it is
    /// infinite or NaN.
    public var json: [UInt8]? { JSONValue.object(mapValues(JSONValue.init)).bytes }
}

extension UserInfoValue {
    init(_ value: JSONValue) {
        self =
            switch value {
            case .null: .null
            case .boolean(let value): .boolean(value)
            case .integer(let value): .integer(value)
            case .unsigned(let value): .unsigned(value)
            case .double(let value): .double(value)
            case .string(let value): .string(value)
            case .array(let values): .array(values.map(UserInfoValue.init))
            case .object(let members): .dictionary(members.mapValues(UserInfoValue.init))
            }
    }

    /// The value as JSON; nil if a number in it is infinite or NaN.
    public var json: [UInt8]? { JSONValue(self).bytes }
}

extension JSONValue {
    init(_ value: UserInfoValue) {
        self =
            switch value {
            case .null: .null
            case .boolean(let value): .boolean(value)
            case .integer(let value): .integer(value)
            case .unsigned(let value): .unsigned(value)
            case .double(let value): .double(value)
            case .string(let value): .string(value)
            case .array(let values): .array(values.map(JSONValue.init))
            case .dictionary(let members): .object(members.mapValues(JSONValue.init))
            }
    }
}

/// The error for bytes that are not a JSON object.
public struct UserInfoError: Error, CustomStringConvertible, Equatable {
    /// A sentence that describes the error.
    public var description: String {
        "These bytes are no user info: that is a JSON object in UTF-8, of at most 64 levels."
    }
}
