public import PostriderJSON

/// What one member of a payload must be.
public struct PayloadCondition: Sendable, Equatable {
    /// Where it lies: names of members, and the numbers of elements from 0 on. `aps.alert.title` has three.
    public let path: [String]
    /// What it must look like; nil: it must be missing or `null`.
    public let value: TextPattern?

    /// A condition from its parts.
    public init(path: [String], value: TextPattern?) {
        self.path = path
        self.value = value
    }

    /// Whether a payload fulfils it. Numbers and booleans are compared as JSON writes them; an object or array is
    /// there, and looks like nothing but `*`.
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
