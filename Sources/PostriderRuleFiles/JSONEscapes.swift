import PostriderNotifications

/// The one difference between JSON and YAML that matters here: JSON writes a character beyond U+FFFF as two escapes,
/// a surrogate pair (RFC 8259, section 7), which YAML does not permit.
enum JSONEscapes {
    /// Replaces surrogate pairs of JSON by YAML's escape `\U` with eight digits. A text that is not JSON is returned
    /// unchanged. Line numbers stay the same.
    static func yaml(_ text: String) -> String {
        let bytes = Array(text.utf8)
        let first = bytes.first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
        guard first == UInt8(ascii: "{") || first == UInt8(ascii: "[") else { return text }
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count)
        var index = 0
        while index < bytes.count {
            guard bytes[index] == UInt8(ascii: "\\"), index + 1 < bytes.count else {
                output.append(bytes[index])
                index += 1
                continue
            }
            if let high = unit(at: index, bytes), UTF16.isLeadSurrogate(high),
                let low = unit(at: index + 6, bytes), UTF16.isTrailSurrogate(low)
            {
                let scalar = 0x1_0000 + (UInt32(high) - 0xD800) << 10 + (UInt32(low) - 0xDC00)
                let digits = String(scalar, radix: 16)
                output += "\\U\(String(repeating: "0", count: 8 - digits.count))\(digits)".utf8
                index += 12
            } else {
                output += bytes[index...index + 1]
                index += 2
            }
        }
        return String(decoding: output, as: UTF8.self)
    }

    /// The UTF-16 unit of the escape at this index; nil if there is none.
    private static func unit(at start: Int, _ bytes: [UInt8]) -> UInt16? {
        guard start + 6 <= bytes.count, bytes[start] == UInt8(ascii: "\\"),
            bytes[start + 1] == UInt8(ascii: "u")
        else { return nil }
        var unit: UInt16 = 0
        for digit in bytes[start + 2..<start + 6] {
            guard let value = Hexadecimal.value(digit) else { return nil }
            unit = unit << 4 | UInt16(value)
        }
        return unit
    }
}
