import PostriderCommands
import PostriderJSON

/// Decides what takes the place of the texts, names and numbers of a JSON value.
///
/// A path has the names of the members that lead to a place, and `*` for the elements of an array. A text and its
/// replacement have the same number of characters, one by one with the same ``JSONText/CharacterClass``.
protocol JSONReplacements {
    /// The replacement of a text.
    mutating func text(_ text: [Unicode.Scalar], at path: [String]) -> [Unicode.Scalar]
    /// The replacement of the name of a member of the object at this path.
    mutating func name(_ name: [Unicode.Scalar], at path: [String]) -> [Unicode.Scalar]
    /// The replacement of a number, which has as many digits.
    mutating func number(_ number: [Unicode.Scalar], at path: [String]) -> [Unicode.Scalar]
}

/// Replaces texts, names and numbers in JSON. All other bytes stay as they are, and each value keeps its length.
///
/// It recurses once for each container. ``PostriderJSON/JSONSyntax`` limits how deep they are nested.
struct JSONRewriter<Replacements: JSONReplacements> {
    private let input: [UInt8]
    private var output: [UInt8] = []
    private var index = 0
    private var path: [String] = []
    private var replacements: Replacements

    private init(_ input: [UInt8], _ replacements: Replacements) {
        self.input = input
        self.replacements = replacements
    }

    /// Rewrites an object; nil if the bytes are none.
    static func rewrite(_ object: [UInt8], with replacements: Replacements) -> [UInt8]? {
        guard JSONSyntax.isObject(object.span) else { return nil }
        var rewriter = JSONRewriter(object, replacements)
        rewriter.output.reserveCapacity(object.count)
        rewriter.copyWhiteSpace()
        rewriter.value()
        rewriter.copyWhiteSpace()
        precondition(rewriter.output.count == object.count, "bug: a replacement has another length")
        return rewriter.output
    }

    private mutating func value() {
        switch input[index] {
        case UInt8(ascii: "{"):
            container(UInt8(ascii: "}")) { rewriter in
                let name = rewriter.string { replacements, path, name in replacements.name(name, at: path) }
                rewriter.copyWhiteSpace()
                // The colon.
                rewriter.copy()
                rewriter.copyWhiteSpace()
                rewriter.path.append(name)
            }
        case UInt8(ascii: "["): container(UInt8(ascii: "]")) { $0.path.append("*") }
        case UInt8(ascii: "\""):
            _ = string { replacements, path, text in replacements.text(text, at: path) }
        case UInt8(ascii: "t"), UInt8(ascii: "f"), UInt8(ascii: "n"):
            while index < input.count, 0x61...0x7A ~= input[index] { copy() }
        default: number()
        }
    }

    /// Copies a container. `enter` is called before each value, and extends the path.
    private mutating func container(_ closing: UInt8, enter: (inout Self) -> Void) {
        copy()
        copyWhiteSpace()
        while input[index] != closing {
            enter(&self)
            value()
            path.removeLast()
            copyWhiteSpace()
            guard input[index] == UInt8(ascii: ",") else { continue }
            copy()
            copyWhiteSpace()
        }
        copy()
    }

    /// Copies a string with its replacement, and returns what was in its place.
    private mutating func string(
        _ replace: (inout Replacements, [String], [Unicode.Scalar]) -> [Unicode.Scalar]
    ) -> String {
        copy()
        let start = index
        while input[index] != UInt8(ascii: "\"") { index += input[index] == UInt8(ascii: "\\") ? 2 : 1 }
        let text = JSONText(input[start..<index])
        output += text.bytes(with: replace(&replacements, path, text.characters))
        copy()
        return String(String.UnicodeScalarView(text.characters))
    }

    private mutating func number() {
        let start = index
        while index < input.count, Self.isOfNumber(input[index]) { index += 1 }
        let digits = input[start..<index].map { Unicode.Scalar($0) }
        output += replacements.number(digits, at: path).map { UInt8(truncatingIfNeeded: $0.value) }
    }

    private static func isOfNumber(_ byte: UInt8) -> Bool {
        0x30...0x39 ~= byte || "+-.eE".utf8.contains(byte)
    }

    private mutating func copyWhiteSpace() {
        while index < input.count, [0x20, 0x09, 0x0A, 0x0D].contains(input[index]) { copy() }
    }

    private mutating func copy() {
        output.append(input[index])
        index += 1
    }
}
