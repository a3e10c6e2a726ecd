import PostriderNotifications

/// Makes values from bytes that ``JSONSyntax`` has accepted. It has no grammar of its own: it dispatches on the first
/// byte of each value and assumes that the rest is valid, so that both always agree about what is JSON.
///
/// It recurses once for each container. The syntax permits at most ``Notifications/Limits/jsonDepth`` nested
/// containers.
struct JSONReader {
    private var index = 0

    /// Reads the value that begins here, after optional white space.
    mutating func value(_ bytes: Span<UInt8>) -> JSONValue {
        skipWhiteSpace(bytes)
        switch bytes[index] {
        case UInt8(ascii: "{"): return .object(members(bytes))
        case UInt8(ascii: "["): return .array(elements(bytes))
        case UInt8(ascii: "\""): return .string(string(bytes))
        case UInt8(ascii: "t"):
            index += 4
            return .boolean(true)
        case UInt8(ascii: "f"):
            index += 5
            return .boolean(false)
        case UInt8(ascii: "n"):
            index += 4
            return .null
        default: return number(bytes)
        }
    }

    private mutating func members(_ bytes: Span<UInt8>) -> [String: JSONValue] {
        var members: [String: JSONValue] = [:]
        while !ends(UInt8(ascii: "}"), bytes) {
            let name = string(bytes)
            skipWhiteSpace(bytes)
            // Skips the colon.
            index += 1
            members[name] = value(bytes)
        }
        return members
    }

    private mutating func elements(_ bytes: Span<UInt8>) -> [JSONValue] {
        var elements: [JSONValue] = []
        while !ends(UInt8(ascii: "]"), bytes) { elements.append(value(bytes)) }
        return elements
    }

    /// Skips the opening bracket or the comma before the next element of a container. Returns true if its closing
    /// bracket is there instead.
    private mutating func ends(_ closing: UInt8, _ bytes: Span<UInt8>) -> Bool {
        skipWhiteSpace(bytes)
        if bytes[index] == closing {
            index += 1
            return true
        }
        index += 1
        skipWhiteSpace(bytes)
        // An empty container, whose opening bracket was just skipped.
        guard bytes[index] == closing else { return false }
        index += 1
        return true
    }

    private mutating func number(_ bytes: Span<UInt8>) -> JSONValue {
        let start = index
        var isWhole = true
        scan: while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "+"): break
            case UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E"): isWhole = false
            default: break scan
            }
            index += 1
        }
        var digits: [UInt8] = []
        for place in start..<index { digits.append(bytes[place]) }
        let text = String(decoding: digits, as: UTF8.self)
        if isWhole {
            if let value = Int64(text) { return .integer(value) }
            if let value = UInt64(text) { return .unsigned(value) }
        }
        guard let value = Double(text), value.isFinite else { return .string(text) }
        return .double(value)
    }

    /// Reads the string that begins here with its quote.
    private mutating func string(_ bytes: Span<UInt8>) -> String {
        var text: [UInt8] = []
        index += 1
        while bytes[index] != UInt8(ascii: "\"") {
            if bytes[index] == UInt8(ascii: "\\") {
                escape(bytes, into: &text)
            } else {
                text.append(bytes[index])
                index += 1
            }
        }
        index += 1
        return String(decoding: text, as: UTF8.self)
    }

    private mutating func escape(_ bytes: Span<UInt8>, into text: inout [UInt8]) {
        let kind = bytes[index + 1]
        index += 2
        switch kind {
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"): text += Array(String(character(bytes)).utf8)
        default: text.append(kind)
        }
    }

    /// Reads the character of an escape from its four digits. If they are the first half of a surrogate pair and the
    /// second half follows, it reads both escapes.
    private mutating func character(_ bytes: Span<UInt8>) -> Character {
        let unit = unit(at: index, bytes)
        index += 4
        if UTF16.isLeadSurrogate(unit), index + 6 <= bytes.count, bytes[index] == UInt8(ascii: "\\"),
            bytes[index + 1] == UInt8(ascii: "u")
        {
            let other = self.unit(at: index + 2, bytes)
            if UTF16.isTrailSurrogate(other) {
                index += 6
                let scalar = 0x1_0000 + (UInt32(unit) - 0xD800) << 10 + (UInt32(other) - 0xDC00)
                return Unicode.Scalar(scalar).map(Character.init) ?? "\u{FFFD}"
            }
        }
        return Unicode.Scalar(unit).map(Character.init) ?? "\u{FFFD}"
    }

    private func unit(at start: Int, _ bytes: Span<UInt8>) -> UInt16 {
        var unit: UInt16 = 0
        for place in start..<start + 4 { unit = unit << 4 | UInt16(Hexadecimal.value(bytes[place]) ?? 0) }
        return unit
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
