/// The name of one device, drawn at random when it enrols: 12 bytes, so that with a registration number it
/// fills one AES block inside a device token.
///
/// `home(device) = hash(device) % shards` is a pure function of these bytes (see ``home(among:)``): every
/// thread of the relay agrees on the one shard that owns a device without asking anybody.
public struct DeviceIdentity: Hashable, Sendable {
    /// Bytes 0 to 7, most significant first.
    public let high: UInt64
    /// Bytes 8 to 11, most significant first.
    public let low: UInt32

    /// The number of bytes in an identity.
    public static let byteCount = 12

    /// An identity from its two words.
    public init(high: UInt64, low: UInt32) {
        self.high = high
        self.low = low
    }

    /// An identity from its 12 bytes, or nil when there are not exactly 12.
    public init?(bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        var words = (high: UInt64(0), low: UInt32(0))
        for byte in bytes[..<8] { words.high = words.high << 8 | UInt64(byte) }
        for byte in bytes[8...] { words.low = words.low << 8 | UInt32(byte) }
        self.init(high: words.high, low: words.low)
    }

    /// An identity from 24 hexadecimal digits of either case, as the operator's tools print it.
    public init?(hex text: String) {
        guard let bytes = Hexadecimal.bytes(text) else { return nil }
        self.init(bytes: bytes)
    }

    /// The 12 bytes.
    public var bytes: [UInt8] {
        var bytes = [UInt8]()
        bytes.reserveCapacity(Self.byteCount)
        for shift in stride(from: 56, through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: high >> shift))
        }
        for shift in stride(from: 24, through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: low >> shift))
        }
        return bytes
    }

    /// The shard that owns this device among `shards` of them. The identity is random, so its low word is a
    /// hash.
    public func home(among shards: Int) -> Int {
        precondition(shards > 0, "a relay has at least one shard")
        return Int(low) % shards
    }
}

extension DeviceIdentity: CustomStringConvertible {
    /// 24 lower-case hexadecimal digits.
    public var description: String { Hexadecimal.text(bytes) }
}

/// The number of one app's registration on one device, counted up by the device's home and never reused: a
/// token of an earlier registration of the same topic stays dead.
public struct RegistrationNumber: Hashable, Comparable, Sendable {
    /// The number, from 1. Its highest bit tells the environment.
    public let value: UInt32

    /// A registration number.
    public init(_ value: UInt32) { self.value = value }

    /// The registration with this ordinal, from 1, in an environment. The environment is part of the number,
    /// and so of the token: a token of the wrong one is known without a look-up.
    public init(_ ordinal: UInt32, in environment: Environment) {
        precondition(
            ordinal < Self.developmentBit, "a device makes fewer than two thousand million registrations")
        value = environment == .development ? ordinal | Self.developmentBit : ordinal
    }

    /// Where its token is good.
    public var environment: Environment { value & Self.developmentBit == 0 ? .production : .development }

    /// How many registrations the device had made in this environment when this one was made, itself included.
    public var ordinal: UInt32 { value & ~Self.developmentBit }

    private static let developmentBit: UInt32 = 1 << 31

    /// Earlier registrations come first.
    public static func < (left: Self, right: Self) -> Bool { left.value < right.value }
}
