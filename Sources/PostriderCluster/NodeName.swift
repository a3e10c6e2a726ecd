/// The name of a node, unique in its cluster. The operator chooses it, and the node's certificate has it.
public struct NodeName: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The name.
    public let text: String
    /// The name.
    public var description: String { text }

    /// The most bytes of a name: those of a label in a host's name (RFC 1035 section 2.3.4).
    public static let mostBytes = 63

    /// Creates a name of 1 to 63 lower-case letters, digits, hyphens and dots that begins with a letter or digit; nil
    /// if the text has another form.
    public init?(_ text: String) {
        guard (1...Self.mostBytes).contains(text.utf8.count), text.first != "-", text.first != ".",
            text.utf8.allSatisfy(Self.isAllowed)
        else { return nil }
        self.text = text
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "-"), UInt8(ascii: "."):
            true
        default: false
        }
    }

    /// Orders by bytes, the same on every node.
    public static func < (left: Self, right: Self) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }
}
