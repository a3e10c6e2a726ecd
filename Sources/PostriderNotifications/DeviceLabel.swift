/// A device's name, by which the operator calls it. No two devices of a relay have the same; case makes no difference.
public struct DeviceName: Hashable, Sendable, CustomStringConvertible {
    /// The name as it was written.
    public let text: String

    /// By which names are compared.
    public var key: String { text.lowercased() }

    /// The name itself.
    public var description: String { text }

    /// Which texts are names, in words.
    public static let rule =
        "1 to 63 letters, digits, '-' and '.', with a letter or digit at both ends, and not 24 hexadecimal "
        + "digits"

    private static let bytes = 63

    /// A name from text; nil if it is none. Host names are names. The text of an identity is not, since commands take
    /// both.
    public init?(_ text: String) {
        guard (1...Self.bytes).contains(text.utf8.count), DeviceIdentity(hex: text) == nil,
            text.utf8.allSatisfy({ $0.isLetterOrDigit || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".") }
            ),
            text.utf8.first?.isLetterOrDigit == true, text.utf8.last?.isLetterOrDigit == true
        else { return nil }
        self.text = text
    }

    /// The name that comes nearest to what a device calls itself.
    public init(of identity: DeviceIdentity, calledItself said: String) {
        if let name = DeviceName(said) {
            self = name
            return
        }
        let bytes = said.utf8.prefix(Self.bytes).map {
            $0.isLetterOrDigit || $0 == UInt8(ascii: ".") ? $0 : 0x2D
        }
        let trimmed = bytes.drop { !$0.isLetterOrDigit }.reversed().drop { !$0.isLetterOrDigit }.reversed()
        let text = String(decoding: Array(trimmed), as: UTF8.self)
        self = DeviceName(text) ?? DeviceName(unchecked: "device-\(identity.description.prefix(8))")
    }

    /// The same name with a number behind it, for the next device that calls itself so.
    public func numbered(_ number: Int) -> DeviceName {
        let ending = "-\(number)"
        let base = text.utf8.prefix(Self.bytes - ending.utf8.count)
        return DeviceName(unchecked: String(decoding: Array(base), as: UTF8.self) + ending)
    }

    private init(unchecked text: String) { self.text = text }
}

/// A word by which devices are grouped.
public struct DeviceTag: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The tag.
    public let text: String

    /// The tag itself.
    public var description: String { text }

    /// Which texts are tags, in words.
    public static let rule = "1 to 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends"

    /// A tag from text; nil where it is none.
    public init?(_ text: String) {
        guard (1...63).contains(text.utf8.count),
            text.utf8.allSatisfy({ $0.isLetterOrDigit || [0x2D, 0x2E, 0x5F].contains($0) }),
            text.utf8.first?.isLetterOrDigit == true, text.utf8.last?.isLetterOrDigit == true
        else { return nil }
        self.text = text
    }

    /// In the order of their bytes.
    public static func < (left: DeviceTag, right: DeviceTag) -> Bool { left.text < right.text }

    /// The tags in a text of tags with spaces between; nil where one of them is none.
    public static func list(_ text: String) -> [DeviceTag]? {
        let words = text.split(separator: " ")
        let tags = words.compactMap { DeviceTag(String($0)) }
        return tags.count == words.count ? tags : nil
    }
}

/// What the operator calls a device, and the groups that it is in.
public struct DeviceLabel: Hashable, Sendable {
    /// The device.
    public let device: DeviceIdentity
    /// Its name; nil: it has none yet.
    public var name: DeviceName?
    /// Whether the operator gave it the name; otherwise it came of what the device calls itself.
    public var isGiven: Bool
    /// Its tags, in order.
    public var tags: [DeviceTag]

    /// A label from its parts.
    public init(
        device: DeviceIdentity, name: DeviceName? = nil, isGiven: Bool = false, tags: [DeviceTag] = []
    ) {
        self.device = device
        self.name = name
        self.isGiven = isGiven
        self.tags = tags
    }
}

extension UInt8 {
    fileprivate var isLetterOrDigit: Bool {
        switch self {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: false
        }
    }
}
