/// The trace context of a push's provider: its headers `traceparent` and `tracestate` (W3C Trace Context). It is a
/// class, so that a push without one has only an empty reference.
///
/// The relay passes it on to the app as it is, because what the app does belongs to the provider's span.
public final class TraceContext: Sendable {
    /// The value of `traceparent` in version 00: always ``Limits/traceParentBytes`` bytes.
    public let parent: String
    /// The value of `tracestate`, at most ``Limits/traceStateBytes`` bytes; nil if there is none.
    public let state: String?

    /// Reads the values of both headers; nil if `parent` is not a valid `traceparent`. An invalid `states` counts as
    /// missing.
    ///
    /// - Parameter states: the values of all fields `tracestate`, with a comma between two.
    public init?(parent: Span<UInt8>, states: [UInt8] = []) {
        guard let parent = Self.parent(parent) else { return nil }
        self.parent = parent
        state = TraceState.text(states)
    }

    /// Reads the values of both headers from texts; nil if `parent` is not a valid `traceparent`.
    public convenience init?(parent: String, state: String? = nil) {
        self.init(parent: parent.utf8.span, states: state.map { Array($0.utf8) } ?? [])
    }

    /// Whether the provider's tracing records the trace (the flag `sampled`).
    public var isSampled: Bool { (parent.utf8.last.flatMap(Hexadecimal.value) ?? 0) & 1 == 1 }

    /// The value in version 00; nil if it is not valid. Of a later version, the parts that version 00 has are read
    /// (section 3.2.4 "Versioning of traceparent"). Of the flags, those are kept that have a meaning: `sampled`, and
    /// `random-trace-id` of Level 2.
    private static func parent(_ value: Span<UInt8>) -> String? {
        let length = Limits.traceParentBytes
        guard value.count >= length, isLowerHexadecimal(value, 0..<2), value[2] == dash,
            isLowerHexadecimal(value, 3..<35), value[35] == dash, isLowerHexadecimal(value, 36..<52),
            value[52] == dash, isLowerHexadecimal(value, 53..<55)
        else { return nil }
        let version = (Hexadecimal.value(value[0]) ?? 0) << 4 | (Hexadecimal.value(value[1]) ?? 0)
        guard version != 0xFF, !isZero(value, 3..<35), !isZero(value, 36..<52),
            value.count == length || (version > 0 && value[length] == dash)
        else { return nil }
        var bytes = (0..<length).map { value[$0] }
        (bytes[0], bytes[1], bytes[53]) = (zero, zero, zero)
        bytes[54] = Hexadecimal.digit((Hexadecimal.value(bytes[54]) ?? 0) & 3)
        return String(decoding: bytes, as: UTF8.self)
    }

    private static let dash = UInt8(ascii: "-")
    private static let zero = UInt8(ascii: "0")

    private static func isLowerHexadecimal(_ value: Span<UInt8>, _ range: Range<Int>) -> Bool {
        range.allSatisfy { 0x30...0x39 ~= value[$0] || 0x61...0x66 ~= value[$0] }
    }

    private static func isZero(_ value: Span<UInt8>, _ range: Range<Int>) -> Bool {
        range.allSatisfy { value[$0] == zero }
    }
}

extension TraceContext: Hashable {
    /// Whether both values are equal.
    public static func == (one: TraceContext, other: TraceContext) -> Bool {
        one.parent == other.parent && one.state == other.state
    }

    /// Hashes both values.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(parent)
        hasher.combine(state)
    }
}

// The form in which stores keep it.
extension TraceContext {
    /// Both values in one text: `traceparent`, and after a space `tracestate` if there is one.
    public var text: String { state.map { "\(parent) \($0)" } ?? parent }

    /// Reads ``text``; nil if it is not one.
    public convenience init?(text: String) {
        let parts = text.split(separator: " ", maxSplits: 1)
        guard let parent = parts.first else { return nil }
        self.init(parent: String(parent), state: parts.count > 1 ? String(parts[1]) : nil)
    }
}

/// The rules for `tracestate` (W3C Trace Context, Level 2, section 3.3).
private enum TraceState {
    /// The value of the header within its bounds; nil if nothing is left, or if the value is invalid. Empty members,
    /// and spaces around members, are left out. Of a value that is too long, members above 128 bytes are left out
    /// first, and then the last ones.
    static func text(_ bytes: [UInt8]) -> String? {
        guard !bytes.isEmpty else { return nil }
        var members: [ArraySlice<UInt8>] = []
        var keys: Set<[UInt8]> = []
        for member in bytes.split(separator: UInt8(ascii: ",")).map(trimmed) where !member.isEmpty {
            guard members.count < Limits.traceStateMembers, let key = key(of: member),
                keys.insert(key).inserted
            else { return nil }
            members.append(member)
        }
        var length = members.reduce(members.count - 1) { $0 + $1.count }
        if length > Limits.traceStateBytes {
            members.removeAll { $0.count > 128 }
            length = members.reduce(members.count - 1) { $0 + $1.count }
        }
        while length > Limits.traceStateBytes, let last = members.popLast() { length -= last.count + 1 }
        guard !members.isEmpty else { return nil }
        return String(decoding: Array(members.joined(separator: [UInt8(ascii: ",")])), as: UTF8.self)
    }

    private static func trimmed(_ member: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let start = member.drop { $0 == 0x20 || $0 == 0x09 }
        guard let end = start.lastIndex(where: { $0 != 0x20 && $0 != 0x09 }) else { return [] }
        return start[...end]
    }

    /// The key of a member; nil if the member is not valid.
    private static func key(of member: ArraySlice<UInt8>) -> [UInt8]? {
        guard let sign = member.firstIndex(of: UInt8(ascii: "=")) else { return nil }
        let (key, value) = (member[..<sign], member[(sign + 1)...])
        guard 1...256 ~= key.count, 1...256 ~= value.count, let first = key.first, isKeyStart(first),
            key.allSatisfy({ isKeyStart($0) || "_-*/@".utf8.contains($0) }),
            value.allSatisfy({ 0x20...0x7E ~= $0 && $0 != UInt8(ascii: "=") })
        else { return nil }
        return Array(key)
    }

    private static func isKeyStart(_ byte: UInt8) -> Bool { 0x30...0x39 ~= byte || 0x61...0x7A ~= byte }
}

extension Limits {
    /// Bytes of `traceparent` in version 00 (W3C Trace Context, section 3.2.2).
    public static let traceParentBytes = 55
    /// Bytes of `tracestate`: as many as section 3.3.1.5 asks for.
    public static let traceStateBytes = 512
    /// Members of `tracestate` (section 3.3.1).
    public static let traceStateMembers = 32
}
