/// Hexadecimal text, as device tokens and identities are written.
public enum Hexadecimal {
    /// The value of one digit of either case, or nil.
    @inlinable
    public static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case 0x30...0x39: digit - 0x30
        case 0x41...0x46: digit - 0x41 + 10
        case 0x61...0x66: digit - 0x61 + 10
        default: nil
        }
    }

    /// The four bytes that eight digits of either case spell, or nil. The first digit is the lowest byte of
    /// `digits`, the first byte the lowest of the result.
    ///
    /// All eight at a time, without a branch: of digits at random no processor foretells which are letters.
    @inlinable
    public static func bytes(_ digits: UInt64) -> UInt32? {
        let each: UInt64 = 0x0101_0101_0101_0101
        let top = each << 7
        let lower = digits | (digits & each << 6) >> 1
        // Of seven bits each: the top bit of a sum tells whether the byte is no less than what was left to 0x80.
        let decimals = (lower &+ each * 0x50) & ~(lower &+ each * 0x46) & top
        let letters = (lower &+ each * 0x1F) & ~(lower &+ each * 0x19) & top
        guard digits & top == 0, decimals | letters == top else { return nil }
        let values = (lower & (each * 0x0F)) &+ (letters >> 7) &* 9
        let pairs = (values << 4 | values >> 8) & 0x00FF_00FF_00FF_00FF
        let words = (pairs | pairs >> 8) & 0x0000_FFFF_0000_FFFF
        return UInt32(truncatingIfNeeded: words | words >> 16)
    }

    /// The eight digits of four bytes, the other way round; `letterA` is the digit of ten: `A` or `a`.
    @inlinable
    public static func digits(_ bytes: UInt32, letterA: UInt8) -> UInt64 {
        let words = (UInt64(bytes) | UInt64(bytes) << 16) & 0x0000_FFFF_0000_FFFF
        let pairs = (words | words << 8) & 0x00FF_00FF_00FF_00FF
        let each: UInt64 = 0x0101_0101_0101_0101
        let values = (pairs >> 4 | pairs << 8) & (each * 0x0F)
        let letters = (values &+ each * 6) >> 4 & each
        return values &+ each * 0x30 &+ letters &* UInt64(letterA &- 0x3A)
    }

    /// The bytes that an even number of digits of either case spell, or nil.
    public static func bytes(_ text: String) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count.isMultiple(of: 2) else { return nil }
        var bytes = [UInt8]()
        bytes.reserveCapacity(digits.count / 2)
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = value(digits[index]), let low = value(digits[index + 1]) else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    /// Two lower-case digits for each byte.
    public static func text(_ bytes: [UInt8]) -> String {
        var digits = [UInt8]()
        digits.reserveCapacity(bytes.count * 2)
        for byte in bytes {
            digits.append(digit(byte >> 4))
            digits.append(digit(byte & 0x0F))
        }
        return String(decoding: digits, as: UTF8.self)
    }

    /// The lower-case digit of a value below 16.
    @inlinable
    public static func digit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x61 + value - 10 }
}

extension Span where Element == UInt8 {
    /// The eight bytes from `index` on as one word, the first of them lowest: what looks at every byte is fast where it
    /// looks at eight at a time. The compiler makes one load of it.
    @inlinable
    @inline(__always)
    public func octet(at index: Int) -> UInt64 {
        let part = extracting(index..<index &+ 8)
        // With this, none of the eight indices has to be checked.
        precondition(part.count == 8, "eight bytes lie within the span")
        var word: UInt64 = 0
        for byte in 0..<8 { word |= UInt64(part[byte]) &<< UInt64(8 * byte) }
        return word
    }
}
