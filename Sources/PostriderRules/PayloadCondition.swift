public import PostriderJSON

/// A condition on one member of a payload.
public struct PayloadCondition: Sendable, Equatable {
    /// The path to the member: names of members, and indices of array elements from 0. `aps.alert.title` has three
    /// parts.
    public let path: [String]
    /// The pattern that the value must match; nil if the member must be missing or `null`.
    public let value: TextPattern?

    /// Creates a condition from its parts.
    public init(path: [String], value: TextPattern?) {
        self.path = path
        self.value = value
    }

    /// Whether a payload fulfils the condition. Numbers and booleans are compared in their JSON form; an object or an
    /// array matches only `*`.
    public func matches(_ payload: JSONValue) -> Bool {
        guard let found = Self.value(at: path[...], in: payload), found != .null else { return value == nil }
        guard let value else { return false }
        switch found {
        case .string(let text): return value.matches(text)
        case .object, .array: return value.text == "*"
        case .null, .boolean, .integer, .unsigned, .double:
            return found.bytes.map { value.matches(String(decoding: $0, as: UTF8.self)) } ?? false
        }
    }

    private static func value(at path: ArraySlice<String>, in value: JSONValue) -> JSONValue? {
        guard let name = path.first else { return value }
        switch value {
        case .object(let members):
            return members[name].flatMap { Self.value(at: path.dropFirst(), in: $0) }
        case .array(let elements):
            guard let index = Int(name), elements.indices.contains(index) else { return nil }
            return Self.value(at: path.dropFirst(), in: elements[index])
        case .null, .boolean, .integer, .unsigned, .double, .string: return nil
        }
    }
}
