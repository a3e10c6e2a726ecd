/// The encoding of proto3: a field with its default value is left out.
extension [UInt8] {
    /// Appends a varint.
    package mutating func appendVarint(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        append(UInt8(truncatingIfNeeded: rest))
    }

    /// Appends an integer field.
    package mutating func appendField(_ number: UInt64, _ value: UInt64) {
        guard value != 0 else { return }
        appendVarint(number << 3)
        appendVarint(value)
    }

    /// Appends a bytes field.
    package mutating func appendField(_ number: UInt64, _ bytes: [UInt8]) {
        guard !bytes.isEmpty else { return }
        appendVarint(number << 3 | 2)
        appendVarint(UInt64(bytes.count))
        append(contentsOf: bytes)
    }

    /// Appends a string field.
    package mutating func appendField(_ number: UInt64, _ text: String) {
        let utf8 = text.utf8
        guard !utf8.isEmpty else { return }
        appendVarint(number << 3 | 2)
        appendVarint(UInt64(utf8.count))
        append(contentsOf: utf8)
    }

    /// Appends an integer field with explicit presence: 0 is written, nil is not.
    package mutating func appendPresentField(_ number: UInt64, _ value: Int64?) {
        guard let value else { return }
        appendVarint(number << 3)
        appendVarint(UInt64(bitPattern: value))
    }

    /// Appends a `double` field.
    package mutating func appendDouble(_ number: UInt64, _ value: Double) {
        guard value != 0 else { return }
        appendVarint(number << 3 | 1)
        for shift in stride(from: UInt64(0), to: 64, by: 8) {
            append(UInt8(truncatingIfNeeded: value.bitPattern >> shift))
        }
    }

    /// Appends an element of a repeated string field, or a string field with explicit presence. An empty string is
    /// written, too.
    package mutating func appendElement(_ number: UInt64, _ text: String) {
        appendVarint(number << 3 | 2)
        appendVarint(UInt64(text.utf8.count))
        append(contentsOf: text.utf8)
    }

    /// Appends a bytes field of 12 bytes: two words, the most significant byte first.
    package mutating func appendField(_ number: UInt64, _ high: UInt64, _ low: UInt32) {
        appendWords(number, high, low)
    }

    /// Appends a bytes field of 16 bytes: two words, the most significant byte first.
    package mutating func appendField(_ number: UInt64, _ high: UInt64, _ low: UInt64) {
        appendWords(number, high, low)
    }

    /// The compiler makes fast code of it here, but not for callers in other modules.
    private mutating func appendWords<Low: FixedWidthInteger>(_ number: UInt64, _ high: UInt64, _ low: Low) {
        appendVarint(number << 3 | 2)
        append(UInt8((high.bitWidth + low.bitWidth) / 8))
        for shift in stride(from: high.bitWidth - 8, through: 0, by: -8) {
            append(UInt8(truncatingIfNeeded: high >> shift))
        }
        for shift in stride(from: low.bitWidth - 8, through: 0, by: -8) {
            append(UInt8(truncatingIfNeeded: low >> shift))
        }
    }

    /// Appends a message field. An empty message is written, too, because a message has presence. The length is known
    /// after the content: one byte is kept for it, and the content is moved if the length takes more.
    package mutating func appendField(_ number: UInt64, message encode: (inout [UInt8]) -> Void) {
        appendVarint(number << 3 | 2)
        let start = count
        append(0)
        encode(&self)
        var rest = UInt64(count - start - 1)
        let size = ProtobufSize.varint(rest)
        if size > 1 { insert(contentsOf: repeatElement(0, count: size - 1), at: start) }
        for index in start..<start + size {
            self[index] = UInt8(truncatingIfNeeded: rest) & 0x7F | (index < start + size - 1 ? 0x80 : 0)
            rest >>= 7
        }
    }

    /// Appends a `repeated uint64` field, packed.
    package mutating func appendField(_ number: UInt64, packed values: [UInt64]) {
        guard !values.isEmpty else { return }
        appendField(number) { output in
            for value in values { output.appendVarint(value) }
        }
    }
}

/// The same encoding into a span of known capacity, which avoids the array's uniqueness check for each byte. Measured
/// on a delivery with 258 bytes of payload: 141 ns instead of 265 ns.
extension OutputSpan where Element == UInt8 {
    /// Appends a varint.
    mutating func appendVarint(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        append(UInt8(truncatingIfNeeded: rest))
    }

    /// Appends the `count` low bytes of a word in big-endian order.
    mutating func appendBigEndian(_ word: UInt64, count: Int) {
        for shift in stride(from: (count - 1) * 8, through: 0, by: -8) {
            append(UInt8(truncatingIfNeeded: word >> shift))
        }
    }

    /// Appends an integer field.
    mutating func appendField(_ number: UInt64, _ value: UInt64) {
        guard value != 0 else { return }
        appendVarint(number << 3)
        appendVarint(value)
    }

    /// Appends a bytes or string field.
    mutating func appendField(_ number: UInt64, _ bytes: Span<UInt8>) {
        guard !bytes.isEmpty else { return }
        appendVarint(number << 3 | 2)
        appendVarint(UInt64(bytes.count))
        for index in bytes.indices { append(bytes[index]) }
    }
}

/// The sizes of encoded fields, to reserve memory before writing. Field numbers are below 16, so a tag has one byte.
enum ProtobufSize {
    /// The bytes of a varint.
    static func varint(_ value: UInt64) -> Int { (70 - (value | 1).leadingZeroBitCount) / 7 }

    /// The bytes of an integer field.
    static func field(_ value: UInt64) -> Int { value == 0 ? 0 : 1 + varint(value) }

    /// The bytes of a string or bytes field.
    static func field(length: Int) -> Int { length == 0 ? 0 : 1 + varint(UInt64(length)) + length }
}
