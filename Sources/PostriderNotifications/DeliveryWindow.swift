/// The deliveries of one stream that are under way: sent and not acknowledged. Both ends keep a window.
///
/// Numbers start at 1 and rise by one. A number may be sent only while it is less than the oldest outstanding number
/// plus ``size``. So the window fits into 64 bits, and no two outstanding deliveries have the same `number % 64`.
public struct DeliveryWindow: Hashable, Sendable {
    /// The largest window that the protocol permits.
    public static let largest = 64

    /// The most numbers from the oldest outstanding delivery to the newest, inclusive.
    public let size: Int
    /// The number of the next delivery.
    public private(set) var next: UInt64 = 1
    /// Bit 0 stands for delivery `next - 1`, bit 1 for the one before it; a set bit means outstanding.
    private var outstanding: UInt64 = 0

    /// Creates a window of 1 to ``largest`` deliveries.
    public init(size: Int) {
        precondition((1...Self.largest).contains(size), "a delivery window has from 1 to 64 places")
        self.size = size
    }

    /// The number of deliveries under way.
    public var outstandingCount: Int { outstanding.nonzeroBitCount }

    /// Whether another delivery may be sent.
    public var hasRoom: Bool { 64 - outstanding.leadingZeroBitCount < size }

    /// Whether this delivery is under way.
    public func isOutstanding(_ delivery: UInt64) -> Bool {
        guard delivery > 0, delivery < next, next - delivery <= 64 else { return false }
        return outstanding >> (next - 1 - delivery) & 1 == 1
    }

    /// Returns the next number and marks it as outstanding; nil if the window is full.
    public mutating func advance() -> UInt64? {
        guard hasRoom else { return nil }
        outstanding = outstanding << 1 | 1
        defer { next += 1 }
        return next
    }

    /// Marks deliveries as acknowledged, in any order. If one of them is not under way (never sent, or acknowledged
    /// before), it returns the first such number and changes nothing; otherwise nil.
    public mutating func acknowledge(_ deliveries: [UInt64]) -> UInt64? {
        var rest = self
        for delivery in deliveries {
            guard rest.isOutstanding(delivery) else { return delivery }
            rest.outstanding &= ~(1 << (next - 1 - delivery))
        }
        self = rest
        return nil
    }
}
