/// The name by which the operator refers to a device. It is unique in a relay; case is ignored.
public struct DeviceName: Hashable, Sendable, CustomStringConvertible {
    /// The name as it was written.
    public let text: String

    /// The form in which names are compared.
    public var key: String { text.lowercased() }

    /// The name.
    public var description: String { text }

    /// A description of valid names, for error sentences.
    public static let rule =
        "1 to 63 letters, digits, '-' and '.', with a letter or digit at both ends, and not 24 hexadecimal "
        + "digits"

    /// Makes a name from text; returns nil if the text breaks ``rule``. Every host name of up to 63 bytes is a device
    /// name. The 24 hexadecimal digits of an identity are not, because commands accept names and identities alike.
    public init?(_ text: String) {
        guard text.isWord(marks: "-."), DeviceIdentity(hex: text) == nil else { return nil }
        self.text = text
    }

    /// Makes the valid name that is nearest to the device's own name.
    public init(of identity: DeviceIdentity, calledItself said: String) {
        if let name = DeviceName(said) {
            self = name
            return
        }
        let bytes = said.utf8.prefix(String.wordBytes).map {
            $0.isLetterOrDigit || $0 == UInt8(ascii: ".") ? $0 : 0x2D
        }
        let trimmed = bytes.drop { !$0.isLetterOrDigit }.reversed().drop { !$0.isLetterOrDigit }.reversed()
        let text = String(decoding: Array(trimmed), as: UTF8.self)
        self = DeviceName(text) ?? DeviceName(unchecked: "device-\(identity.description.prefix(8))")
    }

    /// The same name followed by a number, for further devices with the same own name.
    public func numbered(_ number: Int) -> DeviceName {
        let ending = "-\(number)"
        let base = text.utf8.prefix(String.wordBytes - ending.utf8.count)
        return DeviceName(unchecked: String(decoding: Array(base), as: UTF8.self) + ending)
    }

    private init(unchecked text: String) { self.text = text }
}

/// A word by which devices are grouped.
public struct DeviceTag: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The text of the tag.
    public let text: String

    /// The text of the tag.
    public var description: String { text }

    /// A description of valid tags, for error sentences.
    public static let rule = "1 to 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends"

    /// Makes a tag from text; returns nil if the text breaks ``rule``.
    public init?(_ text: String) {
        guard text.isWord(marks: "-_.") else { return nil }
        self.text = text
    }

    /// Orders tags by their bytes.
    public static func < (left: DeviceTag, right: DeviceTag) -> Bool { left.text < right.text }

    /// Reads tags that are separated by spaces; nil if one of them is not valid.
    public static func list(_ text: String) -> [DeviceTag]? {
        let words = text.split(separator: " ")
        let tags = words.compactMap { DeviceTag(String($0)) }
        return tags.count == words.count ? tags : nil
    }
}

/// The name and the tags of a device.
public struct DeviceLabel: Hashable, Sendable {
    /// The device.
    public let device: DeviceIdentity
    /// The name; nil if the device has none yet.
    public var name: DeviceName?
    /// Whether the operator assigned the name; otherwise it was made from the device's own name.
    public var isGiven: Bool
    /// The tags, in order.
    public var tags: [DeviceTag]

    /// Creates a label from its parts.
    public init(
        device: DeviceIdentity, name: DeviceName? = nil, isGiven: Bool = false, tags: [DeviceTag] = []
    ) {
        self.device = device
        self.name = name
        self.isGiven = isGiven
        self.tags = tags
    }
}

extension String {
    /// The most bytes of a name or a tag: those of a label in the DNS (RFC 1035, section 2.3.4).
    fileprivate static let wordBytes = 63

    /// Whether this is 1 to 63 letters, digits and `marks`, with a letter or digit at both ends.
    fileprivate func isWord(marks: String) -> Bool {
        (1...Self.wordBytes).contains(utf8.count)
            && utf8.allSatisfy { $0.isLetterOrDigit || marks.utf8.contains($0) }
            && utf8.first?.isLetterOrDigit == true && utf8.last?.isLetterOrDigit == true
    }
}
