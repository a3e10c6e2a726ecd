import PostriderNotifications

/// Decides whether bytes are a JSON object: the grammar of RFC 8259, well-formed UTF-8 without a byte order mark, and
/// at most ``Notifications/Limits/jsonDepth`` nested containers.
///
/// The relay carries payloads without reading them, so this visits each byte once and builds nothing. ``JSONValue``
/// can read everything that this accepts. Duplicate keys, lone surrogates in escapes and numbers of any size are
/// accepted, because the grammar permits them. One bit of ``containers`` says whether an open bracket is an object or
/// an array: there is no recursion whose depth an attacker could control.
public struct JSONSyntax {
    private var index = 0
    private var depth = 0
    private var containers: UInt64 = 0

    private init() {
        precondition(Limits.jsonDepth <= UInt64.bitWidth, "a depth needs a bit of its own")
    }

    /// Whether `bytes` are one JSON object, with optional white space around it.
    public static func isObject(_ bytes: Span<UInt8>) -> Bool {
        var syntax = JSONSyntax()
        syntax.skipWhiteSpace(bytes)
        guard syntax.index < bytes.count, bytes[syntax.index] == UInt8(ascii: "{") else { return false }
        guard syntax.value(bytes) else { return false }
        syntax.skipWhiteSpace(bytes)
        return syntax.index == bytes.count
    }

    /// Skips one value with its content.
    private mutating func value(_ bytes: Span<UInt8>) -> Bool {
        repeat {
            // The next byte must begin a value; white space was skipped.
            guard index < bytes.count else { return false }
            switch bytes[index] {
            case UInt8(ascii: "{"):
                guard open(asObject: 1) else { return false }
                skipWhiteSpace(bytes)
                if !take(UInt8(ascii: "}"), bytes) {
                    guard key(bytes) else { return false }
                    continue
                }
                depth -= 1
            case UInt8(ascii: "["):
                guard open(asObject: 0) else { return false }
                skipWhiteSpace(bytes)
                if !take(UInt8(ascii: "]"), bytes) { continue }
                depth -= 1
            default:
                guard scalar(bytes) else { return false }
            }
            guard afterValue(bytes) else { return false }
        } while depth > 0
        return true
    }

    /// After a value: closes every container that ends here, or skips the comma (and the key) before the next value.
    private mutating func afterValue(_ bytes: Span<UInt8>) -> Bool {
        while depth > 0 {
            skipWhiteSpace(bytes)
            guard index < bytes.count else { return false }
            let byte = bytes[index]
            index += 1
            let isObject = containers & 1 << UInt64(depth - 1) != 0
            if byte == UInt8(ascii: ",") {
                skipWhiteSpace(bytes)
                return isObject ? key(bytes) : true
            }
            guard byte == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else { return false }
            depth -= 1
        }
        return true
    }

    private mutating func open(asObject bit: UInt64) -> Bool {
        guard depth < Limits.jsonDepth else { return false }
        containers = containers & ~(1 << UInt64(depth)) | bit << UInt64(depth)
        depth += 1
        index += 1
        return true
    }

    private mutating func key(_ bytes: Span<UInt8>) -> Bool {
        guard string(bytes) else { return false }
        skipWhiteSpace(bytes)
        guard take(UInt8(ascii: ":"), bytes) else { return false }
        skipWhiteSpace(bytes)
        return true
    }

    private mutating func scalar(_ bytes: Span<UInt8>) -> Bool {
        switch bytes[index] {
        case UInt8(ascii: "\""): string(bytes)
        case UInt8(ascii: "t"): word("true", bytes)
        case UInt8(ascii: "f"): word("false", bytes)
        case UInt8(ascii: "n"): word("null", bytes)
        default: number(bytes)
        }
    }

    private mutating func word(_ word: String, _ bytes: Span<UInt8>) -> Bool {
        for byte in word.utf8 where !take(byte, bytes) { return false }
        return true
    }

    /// `-? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?`
    private mutating func number(_ bytes: Span<UInt8>) -> Bool {
        _ = take(UInt8(ascii: "-"), bytes)
        if !take(UInt8(ascii: "0"), bytes) {
            guard digits(bytes) else { return false }
        }
        if take(UInt8(ascii: "."), bytes) {
            guard digits(bytes) else { return false }
        }
        if take(UInt8(ascii: "e"), bytes) || take(UInt8(ascii: "E"), bytes) {
            if !take(UInt8(ascii: "+"), bytes) { _ = take(UInt8(ascii: "-"), bytes) }
            guard digits(bytes) else { return false }
        }
        return true
    }

    private mutating func digits(_ bytes: Span<UInt8>) -> Bool {
        let start = index
        while index < bytes.count, 0x30...0x39 ~= bytes[index] { index += 1 }
        return index > start
    }

    /// Skips a string with its quotes. Its bytes are checked as UTF-8; everything outside of strings is ASCII.
    private mutating func string(_ bytes: Span<UInt8>) -> Bool {
        guard take(UInt8(ascii: "\""), bytes) else { return false }
        while true {
            // Most bytes are plain, so they are skipped eight at a time, and the last few one by one.
            var next = index
            while next + 8 <= bytes.count {
                let plain = Self.plainBytes(bytes.octet(at: next))
                next += plain
                guard plain == 8 else { break }
            }
            while next < bytes.count, Self.isPlain(bytes[next]) { next += 1 }
            index = next
            guard index < bytes.count else { return false }
            let byte = bytes[index]
            switch byte {
            case UInt8(ascii: "\""):
                index += 1
                return true
            case UInt8(ascii: "\\"):
                guard escape(bytes) else { return false }
            case 0x80...:
                guard multibyte(byte, bytes) else { return false }
            default:
                return false
            }
        }
    }

    /// Whether a byte can stand in a string without escape: ASCII except control characters, quote and backslash.
    private static func isPlain(_ byte: UInt8) -> Bool {
        byte &- 0x20 < 0x60 && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }

    /// The number of plain bytes among eight before the first that is not plain. For each byte that is not plain, its
    /// top bit is set; a borrow may set bits above the first of them, which has no effect.
    private static func plainBytes(_ word: UInt64) -> Int {
        let each: UInt64 = 0x0101_0101_0101_0101
        let quotes = word ^ each &* UInt64(UInt8(ascii: "\""))
        let backslashes = word ^ each &* UInt64(UInt8(ascii: "\\"))
        let others =
            word | (word &- each &* 0x20) & ~word | (quotes &- each) & ~quotes
            | (backslashes &- each) & ~backslashes
        return (others & each << 7).trailingZeroBitCount / 8
    }

    private mutating func escape(_ bytes: Span<UInt8>) -> Bool {
        guard index + 1 < bytes.count else { return false }
        let kind = bytes[index + 1]
        index += 2
        switch kind {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            return true
        case UInt8(ascii: "u"):
            guard index + 4 <= bytes.count else { return false }
            for offset in 0..<4 where Hexadecimal.value(bytes[index + offset]) == nil { return false }
            index += 4
            return true
        default:
            return false
        }
    }

    /// Skips a character of two to four bytes, by the table of well-formed sequences (Unicode 15, table 3-7).
    private mutating func multibyte(_ lead: UInt8, _ bytes: Span<UInt8>) -> Bool {
        let length: Int
        var second: ClosedRange<UInt8> = 0x80...0xBF
        switch lead {
        case 0xC2...0xDF: length = 2
        case 0xE0: (length, second) = (3, 0xA0...0xBF)
        case 0xED: (length, second) = (3, 0x80...0x9F)
        case 0xE1...0xEF: length = 3
        case 0xF0: (length, second) = (4, 0x90...0xBF)
        case 0xF4: (length, second) = (4, 0x80...0x8F)
        case 0xF1...0xF3: length = 4
        default: return false
        }
        guard index + length <= bytes.count, second ~= bytes[index + 1] else { return false }
        for offset in 2..<max(2, length) where !(0x80...0xBF ~= bytes[index + offset]) { return false }
        index += length
        return true
    }

    private mutating func take(_ byte: UInt8, _ bytes: Span<UInt8>) -> Bool {
        guard index < bytes.count, bytes[index] == byte else { return false }
        index += 1
        return true
    }

    private mutating func skipWhiteSpace(_ bytes: Span<UInt8>) {
        while index < bytes.count {
            switch bytes[index] {
            case 0x20, 0x09, 0x0A, 0x0D: index += 1
            default: return
            }
        }
    }
}
