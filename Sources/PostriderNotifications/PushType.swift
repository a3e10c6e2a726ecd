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

    /// A push type from the bytes of the header, or nil when Apple's documentation knows none of that name.
    public init?(_ text: Span<UInt8>) {
        // By far the most are alerts; no text is made to find out.
        guard let type = Self.allCases.first(where: { text.spells($0.rawValue) }) else { return nil }
        self = type
    }

    /// What goes with a push type (the contract's section 2.3).
    public struct Rule: Sendable {
        /// What follows the app's bundle identifier in the topic; empty: nothing does.
        public let topicSuffix: String
        /// The priorities that a push of this type may have.
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

    /// What goes with this push type.
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

/// The values of `apns-priority`, by their wire number.
public enum Priority: UInt8, CaseIterable, Comparable, Sendable {
    /// Power outranks everything; never wakes the device.
    case low = 1
    /// Delivered with regard to the device's power.
    case considerate = 5
    /// Delivered at once. The default when the header is absent.
    case immediate = 10

    /// A priority from the bytes of the header, or nil for anything but `1`, `5` and `10`.
    public init?(_ text: Span<UInt8>) {
        switch text.count {
        case 1 where text[0] == UInt8(ascii: "1"): self = .low
        case 1 where text[0] == UInt8(ascii: "5"): self = .considerate
        case 2 where text[0] == UInt8(ascii: "1") && text[1] == UInt8(ascii: "0"): self = .immediate
        default: return nil
        }
    }

    /// Lower priorities come first.
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
