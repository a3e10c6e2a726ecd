import PostriderCommands
import PostriderNotifications

/// A text in JSON: its characters, and how each is written. Other characters can be written in the same way, and then
/// take as many bytes.
struct JSONText {
    /// How a character is written (RFC 8259, section 7).
    private enum Form {
        /// As it is.
        case plain
        /// As a backslash and a letter or sign: `\n`.
        case short
        /// As `\u` and four digits, or as two of these (a surrogate pair).
        case hexadecimal
    }

    /// Characters with the same class can take each other's place: they have the same length in UTF-8, in each form.
    enum CharacterClass {
        /// A character that has a short form, or the slash.
        case short
        /// Any other character, with its length in UTF-8.
        case bytes(Int)

        init(_ character: Unicode.Scalar) {
            self = JSONText.shortForms[character] == nil ? .bytes(UTF8.width(character)) : .short
        }
    }

    /// The characters. Half of a surrogate pair is U+FFFD.
    let characters: [Unicode.Scalar]
    private let forms: [Form]

    /// Reads what is between the quotes of a string that ``PostriderJSON/JSONSyntax`` has accepted.
    init(_ bytes: ArraySlice<UInt8>) {
        var characters: [Unicode.Scalar] = []
        var forms: [Form] = []
        var index = bytes.startIndex
        while index < bytes.endIndex {
            let lead = bytes[index]
            if lead == UInt8(ascii: "\\") {
                let kind = bytes[index + 1]
                if kind == UInt8(ascii: "u") {
                    characters.append(Self.character(bytes, &index))
                    forms.append(.hexadecimal)
                } else {
                    characters.append(Self.characters[kind] ?? "\u{FFFD}")
                    forms.append(.short)
                    index += 2
                }
            } else {
                let length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4
                let text = String(decoding: bytes[index..<index + length], as: UTF8.self)
                characters.append(text.unicodeScalars.first ?? "\u{FFFD}")
                forms.append(.plain)
                index += length
            }
        }
        self.characters = characters
        self.forms = forms
    }

    /// The bytes between the quotes if other characters, one by one with the same class, are written in the same way.
    func bytes(with others: [Unicode.Scalar]) -> [UInt8] {
        precondition(others.count == characters.count, "each character has a replacement")
        var output: [UInt8] = []
        for (character, form) in zip(others, forms) {
            switch form {
            case .plain: output += UTF8.encode(character).map(Array.init) ?? []
            case .short: output += [UInt8(ascii: "\\"), Self.shortForms[character] ?? UInt8(ascii: "/")]
            case .hexadecimal:
                for unit in UTF16.encode(character).map(Array.init) ?? [] {
                    let digits = String(unit, radix: 16)
                    output += "\\u".utf8 + Array(repeating: UInt8(ascii: "0"), count: 4 - digits.utf8.count)
                    output += digits.utf8
                }
            }
        }
        return output
    }

    private static let shortForms: [Unicode.Scalar: UInt8] = [
        "\"": UInt8(ascii: "\""), "\\": UInt8(ascii: "\\"), "/": UInt8(ascii: "/"),
        "\u{8}": UInt8(ascii: "b"),
        "\u{C}": UInt8(ascii: "f"), "\n": UInt8(ascii: "n"), "\r": UInt8(ascii: "r"), "\t": UInt8(ascii: "t"),
    ]
    private static let characters = Dictionary(uniqueKeysWithValues: shortForms.map { ($1, $0) })

    /// Reads `\uXXXX`, or a pair of these, and moves the index behind it.
    private static func character(_ bytes: ArraySlice<UInt8>, _ index: inout Int) -> Unicode.Scalar {
        func unit(at start: Int) -> UInt32 {
            bytes[start..<start + 4].reduce(0) { $0 << 4 | UInt32(Hexadecimal.value($1) ?? 0) }
        }
        let first = unit(at: index + 2)
        index += 6
        guard 0xD800..<0xDC00 ~= first, index + 6 <= bytes.endIndex, bytes[index] == UInt8(ascii: "\\"),
            bytes[index + 1] == UInt8(ascii: "u")
        else { return Unicode.Scalar(first) ?? "\u{FFFD}" }
        let second = unit(at: index + 2)
        guard 0xDC00..<0xE000 ~= second else { return "\u{FFFD}" }
        index += 6
        return Unicode.Scalar(0x1_0000 + (first - 0xD800) << 10 + (second - 0xDC00)) ?? "\u{FFFD}"
    }
}
