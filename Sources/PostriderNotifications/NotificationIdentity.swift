/// The identity of a notification: the UUID in `apns-id`, which the provider or the relay has chosen.
///
/// Answers repeat the provider's own spelling byte for byte; relay and device compare this value.
public struct NotificationIdentity: Hashable, Sendable {
    /// Bytes 0 to 7, most significant byte first.
    public let high: UInt64
    /// Bytes 8 to 15, most significant byte first.
    public let low: UInt64

    /// The number of bytes.
    public static let byteCount = 16
    /// The number of characters of the canonical 8-4-4-4-12 form (RFC 9562, section 4).
    public static let textByteCount = 36

    private static let dash = UInt8(ascii: "-")

    /// Creates an identity from its two words.
    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Creates a version 4 UUID (RFC 9562, section 5.4) from 128 random bits.
    public init(random high: UInt64, _ low: UInt64) {
        self.init(
            high: high & 0xFFFF_FFFF_FFFF_0FFF | 0x4000,
            low: low & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
        )
    }

    /// Creates an identity from 16 bytes; nil if there are not exactly 16.
    public init?(bytes: [UInt8]) {
        guard bytes.count == 16 else { return nil }
        self.init(
            high: bytes[..<8].reduce(0) { $0 << 8 | UInt64($1) },
            low: bytes[8...].reduce(0) { $0 << 8 | UInt64($1) }
        )
    }

    /// Reads an identity from the canonical text form with digits of either case; nil if the text has another form.
    public init?(text: Span<UInt8>) {
        guard text.count == Self.textByteCount, text[8] == Self.dash, text[13] == Self.dash,
            text[18] == Self.dash, text[23] == Self.dash
        else { return nil }
        // Between the dashes: 8, 4 and 4, 4 and 4, 8 and 4 digits.
        guard let first = Hexadecimal.bytes(text.octet(at: 0)),
            let second = Hexadecimal.bytes(text.octet(at: 9) & 0xFFFF_FFFF | text.octet(at: 14) << 32),
            let third = Hexadecimal.bytes(text.octet(at: 19) & 0xFFFF_FFFF | text.octet(at: 24) << 32),
            let fourth = Hexadecimal.bytes(text.octet(at: 28))
        else { return nil }
        self.init(
            high: UInt64(first.byteSwapped) << 32 | UInt64(second.byteSwapped),
            low: UInt64(third.byteSwapped) << 32 | UInt64(fourth.byteSwapped))
    }

    /// Reads an identity from the canonical text form with digits of either case; nil if the text has another form.
    public init?(_ text: String) {
        let bytes = Array(text.utf8)
        self.init(text: bytes.span)
    }

    /// The 16 bytes.
    public var bytes: [UInt8] {
        var bytes = [UInt8]()
        bytes.reserveCapacity(16)
        for word in [high, low] {
            for shift in stride(from: 56, through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: word >> shift))
            }
        }
        return bytes
    }

    /// The 36 characters of the canonical form in upper case, as Apple prints the identities that it generates.
    public var upperCaseText: [UInt8] { text(letterA: UInt8(ascii: "A")) }

    /// The 36 characters of the canonical form in lower case.
    public var lowerCaseText: [UInt8] { text(letterA: UInt8(ascii: "a")) }

    private func text(letterA: UInt8) -> [UInt8] {
        let letters = letters(letterA: letterA)
        return letters.indices.map { letters[$0] }
    }

    /// The characters of the canonical form, without allocation; `letterA` is the digit for ten: `A` or `a`.
    public func letters(letterA: UInt8) -> InlineArray<36, UInt8> {
        var letters = InlineArray<36, UInt8>(repeating: Self.dash)
        // Between the dashes: 8, 4 and 4, 4 and 4, 8 digits.
        letters.write(high >> 32, at: 0, letterA)
        letters.write(high, at: 9, gap: 1, letterA)
        letters.write(low >> 32, at: 19, gap: 1, letterA)
        letters.write(low, at: 28, letterA)
        return letters
    }
}

extension InlineArray where Element == UInt8 {
    /// Writes the low half of a word as eight digits, with a gap after four of them.
    @inline(__always)
    fileprivate mutating func write(_ word: UInt64, at start: Int, gap: Int = 0, _ letterA: UInt8) {
        let bytes = UInt32(truncatingIfNeeded: word).byteSwapped
        let digits = Hexadecimal.digits(bytes, letterA: letterA)
        for digit in 0..<8 {
            self[start + digit + (digit < 4 ? 0 : gap)] = UInt8(
                truncatingIfNeeded: digits >> UInt64(8 * digit))
        }
    }
}

extension NotificationIdentity: CustomStringConvertible {
    /// The canonical form in upper case.
    public var description: String { String(decoding: upperCaseText, as: UTF8.self) }
}
