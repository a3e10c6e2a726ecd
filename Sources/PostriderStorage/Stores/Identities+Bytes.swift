import PostriderNotifications

extension DeviceIdentity {
    /// Reads an identity from the 12 bytes of a column; nil if there are not exactly 12.
    init?(_ bytes: Span<UInt8>) {
        guard bytes.count == Self.byteCount else { return nil }
        self.init(high: bytes.word(at: 0), low: UInt32(truncatingIfNeeded: bytes.word(at: 4)))
    }

    /// The 12 bytes, without an allocation.
    var inlineBytes: InlineArray<12, UInt8> {
        InlineArray { index in
            index < 8
                ? UInt8(truncatingIfNeeded: high >> UInt64(56 - index * 8))
                : UInt8(truncatingIfNeeded: low >> UInt32(88 - index * 8))
        }
    }
}

extension NotificationIdentity {
    /// Reads an identity from the 16 bytes of a column; nil if there are not exactly 16.
    init?(_ bytes: Span<UInt8>) {
        guard bytes.count == 16 else { return nil }
        self.init(high: bytes.word(at: 0), low: bytes.word(at: 8))
    }

    /// The 16 bytes, without an allocation.
    var inlineBytes: InlineArray<16, UInt8> {
        InlineArray { index in
            UInt8(truncatingIfNeeded: (index < 8 ? high : low) >> UInt64(56 - index % 8 * 8))
        }
    }
}

extension ChannelIdentity {
    /// Reads an identity from the 16 bytes of a column; nil if there are not exactly 16.
    init?(_ bytes: Span<UInt8>) {
        guard bytes.count == Self.byteCount else { return nil }
        self.init(high: bytes.word(at: 0), low: bytes.word(at: 8))
    }

    /// The 16 bytes, without an allocation.
    var inlineBytes: InlineArray<16, UInt8> {
        InlineArray { index in
            UInt8(truncatingIfNeeded: (index < 8 ? high : low) >> UInt64(56 - index % 8 * 8))
        }
    }
}

extension Span where Element == UInt8 {
    /// The eight bytes from `offset` as a number, most significant byte first.
    fileprivate func word(at offset: Int) -> UInt64 {
        var word: UInt64 = 0
        for index in offset..<offset + 8 { word = word << 8 | UInt64(self[index]) }
        return word
    }
}
