import FoundationEssentials

extension UserInfoValue: Codable {
    /// Takes a value from a decoder, in the nearest shape that JSON has.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .boolean(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
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

    /// Gives the value to an encoder, in the shape that JSON has for it. JSON has none for numbers that are infinite or
    /// none at all: its encoder throws.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .boolean(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .double(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .dictionary(let value): try container.encode(value)
        }
    }
}

extension UserInfo {
    /// The members of the JSON object that these bytes are, such as a notification's payload.
    public init(json bytes: some Sequence<UInt8>) throws(UserInfoError) {
        do {
            self = try JSONDecoder().decode(UserInfo.self, from: Data(bytes))
        } catch {
            throw UserInfoError()
        }
    }
}

/// Bytes that should have been a JSON object.
public struct UserInfoError: Error, CustomStringConvertible, Equatable {
    /// One sentence.
    public var description: String { "a user info must be a JSON object in UTF-8, and these bytes are none" }
}
