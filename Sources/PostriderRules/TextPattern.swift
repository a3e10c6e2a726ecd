/// What a text must look like: itself, or with `*` for any number of characters, none included.
public struct TextPattern: Sendable, Equatable {
    /// As it was written.
    public let text: String
    /// The parts between the asterisks; one part: the text itself.
    private let parts: [[UInt8]]

    /// The pattern of a text.
    public init(_ text: String) {
        self.text = text
        parts = text.utf8.split(separator: UInt8(ascii: "*"), omittingEmptySubsequences: false).map(
            Array.init)
    }

    /// Whether it has no asterisk.
    public var isLiteral: Bool { parts.count == 1 }

    /// Whether a text looks like this. Upper and lower case differ.
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
            // The first place is the best: what follows has the most room then.
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
