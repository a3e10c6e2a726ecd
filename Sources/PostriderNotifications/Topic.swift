/// The topic of an app: its bundle identifier, with a suffix for some push types.
public struct Topic: Hashable, Sendable {
    /// The text of the topic, as in `apns-topic`.
    public let text: String

    /// Creates a topic; nil if the text is empty, exceeds ``Limits/topicBytes``, or contains anything but ASCII
    /// letters, digits, `.`, `-` and `_` (which bundle identifiers and the suffixes of real topics use).
    public init?(_ text: String) {
        guard !text.isEmpty, text.utf8.count <= Limits.topicBytes, text.utf8.allSatisfy(Self.isAllowed) else {
            return nil
        }
        self.text = text
    }

    private init(bundleOf topic: Topic, suffix: String) {
        text = String(topic.text.dropLast(suffix.utf8.count))
    }

    /// The push type whose suffix the topic has; nil if the topic is a bundle identifier.
    public var suffixType: PushType? {
        for type in PushType.allCases {
            let suffix = type.rule.topicSuffix.utf8
            guard !suffix.isEmpty, text.utf8.count > suffix.count else { continue }
            if text.utf8.suffix(suffix.count).elementsEqual(suffix) { return type }
        }
        return nil
    }

    /// The app's bundle identifier: the topic without the suffix of a push type.
    public var bundle: Topic {
        guard let suffixType else { return self }
        return Topic(bundleOf: self, suffix: suffixType.rule.topicSuffix)
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        byte.isLetterOrDigit || ".-_".utf8.contains(byte)
    }
}

extension Topic: CustomStringConvertible {
    /// The text of the topic.
    public var description: String { text }
}
