/// The code of a Swift file, with blanks in place of comments and of the text of string literals. Interpolations are
/// code. Line numbers are unchanged.
struct SwiftCode {
    /// The code, line by line.
    private(set) var lines: [String] = []
    /// The line of a literal or comment without an end; the lines after it cannot be checked.
    private(set) var brokenLine: Int?

    private enum Mode {
        case code(openParentheses: Int)
        case string(hashes: Int, isMultiline: Bool)
    }

    private let bytes: [UInt8]
    private var position = 0
    private var code: [UInt8] = []
    private var modes: [Mode] = [.code(openParentheses: 0)]

    init(_ text: String) {
        bytes = Array(text.utf8)
        code.reserveCapacity(bytes.count)
        while position < bytes.count {
            switch modes.last {
            case .code(let depth): readCode(depth)
            case .string(let hashes, let isMultiline): readString(hashes, isMultiline)
            case nil: preconditionFailure("the file itself is code")
            }
        }
        if modes.count > 1 { markBroken() }
        lines = String(decoding: code, as: UTF8.self)
            .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }

    private mutating func readCode(_ depth: Int) {
        switch bytes[position] {
        case UInt8(ascii: "/") where at("//"):
            blank((bytes[position...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count) - position)
            return
        case UInt8(ascii: "/") where at("/*"):
            readBlockComment()
            return
        case UInt8(ascii: "\""), UInt8(ascii: "#"):
            if let (hashes, isMultiline) = stringOpening() {
                blank(hashes + (isMultiline ? 3 : 1))
                modes.append(.string(hashes: hashes, isMultiline: isMultiline))
                return
            }
        case UInt8(ascii: "("): setParentheses(depth + 1)
        case UInt8(ascii: ")") where depth == 0 && modes.count > 1: modes.removeLast()
        case UInt8(ascii: ")"): setParentheses(depth - 1)
        default: break
        }
        code.append(bytes[position])
        position += 1
    }

    private mutating func readString(_ hashes: Int, _ isMultiline: Bool) {
        let marks = String(repeating: "#", count: hashes)
        switch bytes[position] {
        case UInt8(ascii: "\\") where at("\\" + marks + "("):
            blank(hashes + 2)
            modes.append(.code(openParentheses: 0))
        case UInt8(ascii: "\\") where at("\\" + marks):
            blank(hashes + 2)
        case UInt8(ascii: "\"") where at((isMultiline ? "\"\"\"" : "\"") + marks):
            blank((isMultiline ? 3 : 1) + hashes)
            modes.removeLast()
        case UInt8(ascii: "\n") where !isMultiline:
            markBroken()
            modes.removeLast()
        default:
            blank(1)
        }
    }

    private mutating func readBlockComment() {
        var depth = 0
        repeat {
            if at("/*") {
                depth += 1
                blank(2)
            } else if at("*/") {
                depth -= 1
                blank(2)
            } else {
                blank(1)
            }
        } while depth > 0 && position < bytes.count
        if depth > 0 { markBroken() }
    }

    /// Returns the number of hashes and the kind of the literal that opens here; nil if none does.
    private func stringOpening() -> (hashes: Int, isMultiline: Bool)? {
        let hashes = bytes[position...].prefix { $0 == UInt8(ascii: "#") }.count
        guard at("\"", offset: hashes) else { return nil }
        return (hashes, at("\"\"\"", offset: hashes))
    }

    private func at(_ text: String, offset: Int = 0) -> Bool {
        bytes[min(position + offset, bytes.count)...].starts(with: text.utf8)
    }

    /// Replaces this many bytes by blanks, but keeps line ends.
    private mutating func blank(_ count: Int) {
        for byte in bytes[position..<min(position + count, bytes.count)] {
            code.append(byte == UInt8(ascii: "\n") ? byte : UInt8(ascii: " "))
        }
        position = min(position + count, bytes.count)
    }

    private mutating func setParentheses(_ count: Int) {
        modes[modes.count - 1] = .code(openParentheses: count)
    }

    private mutating func markBroken() {
        brokenLine = brokenLine ?? code.count { $0 == UInt8(ascii: "\n") } + 1
    }
}
