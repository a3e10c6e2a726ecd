/// A device token: 32 opaque bytes that identify one app on one device. Providers write it as 64 hexadecimal digits.
///
/// The bytes are `AES-SIV(secret, device identity ‖ registration number)`, which only the relay can decrypt. Apple's
/// contract permits tokens of any length; ours are always 32 bytes.
public struct DeviceToken: Hashable, Sendable {
    /// The bytes as four words; a word contains its eight bytes in memory order (little endian).
    public let words: SIMD4<UInt64>

    /// The number of bytes in a token.
    public static let byteCount = 32

    /// Creates a token from its four words.
    public init(words: SIMD4<UInt64>) { self.words = words }

    /// Creates a token from its 32 bytes; nil if there are not exactly 32.
    public init?(bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        var words = SIMD4<UInt64>()
        for (index, byte) in bytes.enumerated() { words[index / 8] |= UInt64(byte) << UInt64(index % 8 * 8) }
        self.words = words
    }

    /// Reads a token from exactly 64 hexadecimal digits of either case; nil if the text has another form.
    public init?(hex digits: Span<UInt8>) {
        guard digits.count == Self.byteCount * 2 else { return nil }
        var words = SIMD4<UInt64>()
        for word in 0..<4 {
            guard let low = Hexadecimal.bytes(digits.octet(at: word * 16)),
                let high = Hexadecimal.bytes(digits.octet(at: word * 16 + 8))
            else { return nil }
            words[word] = UInt64(high) << 32 | UInt64(low)
        }
        self.words = words
    }

    /// Reads a token from exactly 64 hexadecimal digits of either case; nil if the text has another form.
    public init?(hex text: String) {
        let digits = Array(text.utf8)
        self.init(hex: digits.span)
    }

    /// The 32 bytes.
    public var bytes: [UInt8] {
        (0..<Self.byteCount).map { UInt8(truncatingIfNeeded: words[$0 / 8] >> UInt64($0 % 8 * 8)) }
    }

    /// The token as 64 lower-case hexadecimal digits.
    public var hex: String { Hexadecimal.text(bytes) }
}

extension DeviceToken: CustomStringConvertible {
    /// Only the first eight digits, because a whole token permits pushing, and descriptions are written to logs.
    public var description: String { Hexadecimal.text(Array(bytes[..<4])) + "…" }
}
