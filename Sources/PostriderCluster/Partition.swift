public import PostriderNotifications

/// A part of a cluster's devices. One node at a time has a partition: it is the home of all of its devices.
public struct Partition: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The number of partitions in a cluster. It is recorded in the database, because another number would give
    /// devices other homes. With 1024, the loads of up to about a hundred nodes differ by less than a tenth.
    public static let count = 1024

    /// The number, from 0.
    public let number: Int
    /// The number in decimal digits.
    public var description: String { String(number) }

    /// Creates a partition from its number, from 0.
    public init(_ number: Int) {
        precondition(number >= 0, "partitions are numbered from 0")
        self.number = number
    }

    /// The partition of a device. Identities are random, so the low word serves as a hash.
    public init(of device: DeviceIdentity) { number = Int(device.low) % Self.count }

    /// The partition of an app's channels. Its node decides about them.
    public init(of owner: ChannelOwner) { number = Int(owner.hash) % Self.count }

    /// The partition that has a receipt: while it is only promised, that of its message's device, and then that of the
    /// subscription at which its sender gets it.
    public init(of receipt: Receipt) {
        self.init(of: receipt.outcome == nil ? receipt.device : receipt.subscription.identity)
    }

    /// The identity in this partition that is closest to two random words.
    public func identity(high: UInt64, low: UInt32) -> DeviceIdentity {
        let count = UInt32(Self.count)
        return DeviceIdentity(high: high, low: low / count * count + UInt32(number))
    }

    /// Orders by number.
    public static func < (left: Self, right: Self) -> Bool { left.number < right.number }
}
