/// Hexadecimal text, which device tokens and identities use.
public enum Hexadecimal {
    /// The value of one digit of either case; nil if it is not a digit.
    @inlinable
    public static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case 0x30...0x39: digit - 0x30
        case 0x41...0x46: digit - 0x41 + 10
        case 0x61...0x66: digit - 0x61 + 10
        default: nil
        }
    }

    /// Decodes eight digits of either case to four bytes; nil if one is not a digit. The first digit is the lowest
    /// byte of `digits`, and the first byte is the lowest byte of the result.
    ///
    /// It handles all eight digits at once and without a branch, because in random digits a processor cannot predict
    /// which are letters.
    @inlinable
    public static func bytes(_ digits: UInt64) -> UInt32? {
        let each: UInt64 = 0x0101_0101_0101_0101
        let top = each << 7
        let lower = digits | (digits & each << 6) >> 1
        // Each byte has seven bits here, so the top bit of a sum tells whether the byte reaches the threshold that
        // was subtracted from 0x80.
        let decimals = (lower &+ each * 0x50) & ~(lower &+ each * 0x46) & top
        let letters = (lower &+ each * 0x1F) & ~(lower &+ each * 0x19) & top
        guard digits & top == 0, decimals | letters == top else { return nil }
        let values = (lower & (each * 0x0F)) &+ (letters >> 7) &* 9
        let pairs = (values << 4 | values >> 8) & 0x00FF_00FF_00FF_00FF
        let words = (pairs | pairs >> 8) & 0x0000_FFFF_0000_FFFF
        return UInt32(truncatingIfNeeded: words | words >> 16)
    }

    /// Encodes four bytes as eight digits, in the same order; `letterA` is the digit for ten: `A` or `a`.
    @inlinable
    public static func digits(_ bytes: UInt32, letterA: UInt8) -> UInt64 {
        let words = (UInt64(bytes) | UInt64(bytes) << 16) & 0x0000_FFFF_0000_FFFF
        let pairs = (words | words << 8) & 0x00FF_00FF_00FF_00FF
        let each: UInt64 = 0x0101_0101_0101_0101
        let values = (pairs >> 4 | pairs << 8) & (each * 0x0F)
        let letters = (values &+ each * 6) >> 4 & each
        return values &+ each * 0x30 &+ letters &* UInt64(letterA &- 0x3A)
    }

    /// Decodes an even number of digits of either case; nil if the text has another form.
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

    /// Encodes each byte as two lower-case digits.
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
    /// The eight bytes from `index` on as one word, the first byte lowest. Code that examines every byte is faster
    /// with eight at a time; the compiler turns this into one load.
    @inlinable
    @inline(__always)
    public func octet(at index: Int) -> UInt64 {
        let part = extracting(index..<index &+ 8)
        // This precondition spares the checks of the eight indices.
        precondition(part.count == 8, "eight bytes lie within the span")
        var word: UInt64 = 0
        for byte in 0..<8 { word |= UInt64(part[byte]) &<< UInt64(8 * byte) }
        return word
    }
}
