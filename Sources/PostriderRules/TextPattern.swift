/// A pattern for texts, in which `*` stands for any number of characters, including none.
public struct TextPattern: Sendable, Equatable {
    /// The pattern as it was written.
    public let text: String
    /// The parts between the asterisks.
    private let parts: [[UInt8]]

    /// Creates a pattern from its text.
    public init(_ text: String) {
        self.text = text
        parts = text.utf8.split(separator: UInt8(ascii: "*"), omittingEmptySubsequences: false).map(
            Array.init)
    }

    /// Whether the pattern has no asterisk.
    public var isLiteral: Bool { parts.count == 1 }

    /// Whether a text matches the pattern. The comparison is case-sensitive.
    public func matches(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        guard let first = parts.first, let last = parts.last, parts.count > 1 else {
            return bytes == parts.first
        }
        guard bytes.count >= first.count + last.count, bytes.starts(with: first),
            bytes.suffix(last.count).elementsEqual(last)
        else { return false }
        var rest = bytes[first.count..<bytes.count - last.count]
        for part in parts.dropFirst().dropLast() where !part.isEmpty {
            // The first match is the best, because it leaves the most text for the remaining parts.
            guard let start = Self.place(of: part, in: rest) else { return false }
            rest = rest[(start + part.count)...]
        }
        return true
    }

    private static func place(of part: [UInt8], in bytes: ArraySlice<UInt8>) -> Int? {
        guard bytes.count >= part.count else { return nil }
        return (bytes.startIndex...bytes.endIndex - part.count)
            .first { bytes[$0..<$0 + part.count].elementsEqual(part) }
    }
}
