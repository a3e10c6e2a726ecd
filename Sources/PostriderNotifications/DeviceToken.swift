/// A device token: 32 opaque bytes that name one app on one device. Providers write them as 64 hexadecimal
/// digits.
///
/// The bytes are `AES-SIV(secret, device identity ‖ registration number)`; only the relay's token seal can
/// tell what they mean. Apple's contract lets tokens be of any length, ours are always 32 bytes.
public struct DeviceToken: Hashable, Sendable {
    /// The bytes as four words; a word holds its eight bytes in memory order (little endian).
    public let words: SIMD4<UInt64>

    /// The number of bytes in a token.
    public static let byteCount = 32

    /// A token from its four words.
    public init(words: SIMD4<UInt64>) { self.words = words }

    /// A token from its 32 bytes, or nil when there are not exactly 32.
    public init?(bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        var words = SIMD4<UInt64>()
        for (index, byte) in bytes.enumerated() { words[index / 8] |= UInt64(byte) << UInt64(index % 8 * 8) }
        self.words = words
    }

    /// A token from exactly 64 hexadecimal digits of either case, or nil.
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

    /// A token from exactly 64 hexadecimal digits of either case, or nil.
    public init?(hex text: String) {
        let digits = Array(text.utf8)
        self.init(hex: digits.span)
    }

    /// The 32 bytes.
    public var bytes: [UInt8] {
        (0..<Self.byteCount).map { UInt8(truncatingIfNeeded: words[$0 / 8] >> UInt64($0 % 8 * 8)) }
    }

    /// 64 lower-case hexadecimal digits.
    public var hex: String { Hexadecimal.text(bytes) }
}

extension DeviceToken: CustomStringConvertible {
    /// The first eight digits only: a whole token is a capability, and descriptions end up in logs.
    public var description: String { Hexadecimal.text(Array(bytes[..<4])) + "…" }
}
