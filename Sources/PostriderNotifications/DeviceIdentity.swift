/// The identity of a device: 12 bytes drawn at random when it enrols. Together with a registration number it fills
/// one AES block inside a device token.
///
/// `home(device) = hash(device) % shards` is a pure function of these bytes (see ``home(among:)``), so every thread
/// of the relay knows which shard owns a device.
public struct DeviceIdentity: Hashable, Sendable {
    /// Bytes 0 to 7, most significant byte first.
    public let high: UInt64
    /// Bytes 8 to 11, most significant byte first.
    public let low: UInt32

    /// The number of bytes in an identity.
    public static let byteCount = 12

    /// Creates an identity from its two words.
    public init(high: UInt64, low: UInt32) {
        self.high = high
        self.low = low
    }

    /// Creates an identity from its 12 bytes; nil if there are not exactly 12.
    public init?(bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        var words = (high: UInt64(0), low: UInt32(0))
        for byte in bytes[..<8] { words.high = words.high << 8 | UInt64(byte) }
        for byte in bytes[8...] { words.low = words.low << 8 | UInt32(byte) }
        self.init(high: words.high, low: words.low)
    }

    /// Reads an identity from 24 hexadecimal digits of either case, as the operator's commands print it; nil if the
    /// text has another form.
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

    /// The shard that owns this device, among `shards` shards. The identity is random, so its low word serves as a
    /// hash.
    public func home(among shards: Int) -> Int {
        precondition(shards > 0, "a relay has at least one shard")
        return Int(low) % shards
    }
}

extension DeviceIdentity: CustomStringConvertible {
    /// The identity as 24 lower-case hexadecimal digits.
    public var description: String { Hexadecimal.text(bytes) }
}

/// The number of an app's registration on a device. The device's shard counts it up and never reuses one, so the
/// token of an earlier registration of the same topic stays invalid.
public struct RegistrationNumber: Hashable, Comparable, Sendable {
    /// The number, from 1. Its highest bit encodes the environment.
    public let value: UInt32

    /// Creates a registration number from its value.
    public init(_ value: UInt32) { self.value = value }

    /// Creates the number of the registration with this ordinal, from 1, in an environment. The environment is part
    /// of the number, and so of the token: a token of the other environment is recognised without a look-up.
    public init(_ ordinal: UInt32, in environment: Environment) {
        precondition(
            ordinal < Self.developmentBit, "a device makes fewer than two thousand million registrations")
        value = environment == .development ? ordinal | Self.developmentBit : ordinal
    }

    /// The environment in which the token is valid.
    public var environment: Environment { value & Self.developmentBit == 0 ? .production : .development }

    /// The count of the device's registrations in this environment up to and including this one.
    public var ordinal: UInt32 { value & ~Self.developmentBit }

    private static let developmentBit: UInt32 = 1 << 31

    /// Orders earlier registrations first.
    public static func < (left: Self, right: Self) -> Bool { left.value < right.value }
}
