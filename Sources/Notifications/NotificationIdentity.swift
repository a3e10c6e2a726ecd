/// The identity of a notification: the UUID of its `apns-id`, sent by the provider or drawn by the relay.
///
/// A provider's own spelling is echoed byte for byte by the session that answers it; this value is what the
/// relay and the device compare.
public struct NotificationIdentity: Hashable, Sendable {
    /// Bytes 0 to 7, most significant first.
    public let high: UInt64
    /// Bytes 8 to 15, most significant first.
    public let low: UInt64

    /// The number of bytes.
    public static let byteCount = 16
    /// The number of characters in the canonical 8-4-4-4-12 form (RFC 9562 section 4).
    public static let textByteCount = 36

    /// An identity from its two words.
    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// A version 4 UUID (RFC 9562 section 5.4) from 128 random bits.
    public init(random high: UInt64, _ low: UInt64) {
        self.init(
            high: high & 0xFFFF_FFFF_FFFF_0FFF | 0x4000,
            low: low & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
        )
    }

    /// An identity from 16 bytes, or nil when there are not exactly 16.
    public init?(bytes: [UInt8]) {
        guard bytes.count == 16 else { return nil }
        self.init(
            high: bytes[..<8].reduce(0) { $0 << 8 | UInt64($1) },
            low: bytes[8...].reduce(0) { $0 << 8 | UInt64($1) }
        )
    }

    /// An identity from the canonical text form with digits of either case, or nil.
    public init?(text: Span<UInt8>) {
        guard text.count == Self.textByteCount else { return nil }
        var words = (high: UInt64(0), low: UInt64(0))
        var digits = 0
        for index in 0..<Self.textByteCount {
            switch index {
            case 8, 13, 18, 23:
                guard text[index] == UInt8(ascii: "-") else { return nil }
            default:
                guard let value = Hexadecimal.value(text[index]) else { return nil }
                if digits < 16 {
                    words.high = words.high << 4 | UInt64(value)
                } else {
                    words.low = words.low << 4 | UInt64(value)
                }
                digits += 1
            }
        }
        self.init(high: words.high, low: words.low)
    }

    /// An identity from the canonical text form with digits of either case, or nil.
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

    /// The 36 characters of the canonical form in upper case, as Apple prints the identities that it
    /// generates.
    public var upperCaseText: [UInt8] { text(letterA: UInt8(ascii: "A")) }

    /// The 36 characters of the canonical form in lower case.
    public var lowerCaseText: [UInt8] { text(letterA: UInt8(ascii: "a")) }

    private func text(letterA: UInt8) -> [UInt8] {
        let letters = letters(letterA: letterA)
        return letters.indices.map { letters[$0] }
    }

    /// The canonical form without an allocation; `letterA` is the digit of ten: `A` or `a`.
    public func letters(letterA: UInt8) -> InlineArray<36, UInt8> {
        var letters = InlineArray<36, UInt8>(repeating: UInt8(ascii: "-"))
        var index = 0
        for nibble in 0..<32 {
            if index == 8 || index == 13 || index == 18 || index == 23 { index += 1 }
            let word = nibble < 16 ? high : low
            let value = UInt8(truncatingIfNeeded: word >> UInt64(60 - nibble % 16 * 4)) & 0x0F
            letters[index] = value < 10 ? 0x30 + value : letterA + value - 10
            index += 1
        }
        return letters
    }
}

extension NotificationIdentity: CustomStringConvertible {
    /// The canonical form in upper case.
    public var description: String { String(decoding: upperCaseText, as: UTF8.self) }
}
