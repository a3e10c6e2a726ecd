extension Array where Element == UInt8 {
    /// Appends a literal field without indexing and with a literal name (RFC 7541, section 6.2.2). It does not depend
    /// on the HPACK table and does not change it.
    mutating func append(literal name: Span<UInt8>, _ value: Span<UInt8>) {
        append(0)
        append(string: name)
        append(string: value)
    }

    /// Appends a string without Huffman coding: its length as an integer with a prefix of seven bits (sections 5.1,
    /// 5.2), then its bytes.
    private mutating func append(string text: Span<UInt8>) {
        if text.count < 0x7F {
            append(UInt8(text.count))
        } else {
            append(0x7F)
            var rest = text.count - 0x7F
            while rest >= 0x80 {
                append(UInt8(truncatingIfNeeded: rest) | 0x80)
                rest >>= 7
            }
            append(UInt8(rest))
        }
        append(copying: text)
    }
}
