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
        for type in Self.allCases where text.spells(type.rawValue) {
            self = type
            return
        }
        return nil
    }

    /// The largest payload of this push type in bytes ("Generating a remote notification").
    public var payloadByteLimit: Int { self == .voip ? Limits.voipPayloadBytes : Limits.payloadBytes }
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
        for priority in Self.allCases where text.spells(String(priority.rawValue)) {
            self = priority
            return
        }
        return nil
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
}
