/// The values of `apns-push-type` ("Sending notification requests to APNs").
public enum PushType: String, CaseIterable, Sendable {
    case alert
    case background
    case complication
    case controls
    case fileprovider
    case liveactivity
    case location
    case mdm
    case pushtotalk
    case voip
    case widgets

    /// Reads a push type from the bytes of the header; nil if Apple's documentation has no such value.
    public init?(_ text: Span<UInt8>) {
        // Nearly all pushes are alerts, so these are compared first, without creating a string.
        guard let type = Self.allCases.first(where: { text.spells($0.rawValue) }) else { return nil }
        self = type
    }

    /// What a push type implies (section 2.3 of the contract).
    public struct Rule: Sendable {
        /// The suffix of the topic after the app's bundle identifier; empty for none.
        public let topicSuffix: String
        /// The permitted priorities.
        public let priorities: ClosedRange<Priority>
        /// The largest payload in bytes ("Generating a remote notification").
        public let payloadBytes: Int

        fileprivate init(
            _ topicSuffix: String = "",
            _ priorities: ClosedRange<Priority> = .low ... .immediate,
            payloadBytes: Int = Limits.payloadBytes
        ) {
            self.topicSuffix = topicSuffix
            self.priorities = priorities
            self.payloadBytes = payloadBytes
        }
    }

    /// The rule for this push type.
    public var rule: Rule {
        switch self {
        case .alert: Rule()
        case .background: Rule("", .considerate ... .considerate)
        case .complication: Rule(".complication")
        case .controls: Rule(".push-type.controls")
        case .fileprovider: Rule(".pushkit.fileprovider")
        case .liveactivity: Rule(".push-type.liveactivity", .considerate ... .immediate)
        case .location: Rule(".location-query", .considerate ... .immediate)
        case .mdm: Rule()
        case .pushtotalk: Rule(".voip-ptt")
        case .voip: Rule(".voip", payloadBytes: Limits.voipPayloadBytes)
        case .widgets: Rule(".push-type.widgets")
        }
    }
}

/// The values of `apns-priority`.
public enum Priority: UInt8, CaseIterable, Comparable, Sendable {
    /// The power considerations of the device come first; the push never wakes the device.
    case low = 1
    /// The push is delivered with regard to the power considerations of the device.
    case considerate = 5
    /// The push is delivered at once. This is the default if the header is missing.
    case immediate = 10

    /// Reads a priority from the bytes of the header; nil for anything but `1`, `5` and `10`.
    public init?(_ text: Span<UInt8>) {
        switch text.count {
        case 1 where text[0] == UInt8(ascii: "1"): self = .low
        case 1 where text[0] == UInt8(ascii: "5"): self = .considerate
        case 2 where text[0] == UInt8(ascii: "1") && text[1] == UInt8(ascii: "0"): self = .immediate
        default: return nil
        }
    }

    /// Orders lower priorities first.
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

extension Span where Element == UInt8 {
    /// Whether these bytes are the UTF-8 of `text`.
    public func spells(_ text: String) -> Bool {
        guard count == text.utf8.count else { return false }
        var index = 0
        for byte in text.utf8 {
            guard self[index] == byte else { return false }
            index += 1
        }
        return true
    }

    /// Whether these bytes begin with the UTF-8 of `text`.
    public func begins(with text: String) -> Bool {
        count >= text.utf8.count && extracting(..<text.utf8.count).spells(text)
    }
}
