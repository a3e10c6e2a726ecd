/// The deliveries of one stream that are under way: sent, and not yet acknowledged. Both ends keep one.
///
/// Numbers start at 1 and rise by one. A number may be sent only while it is below the oldest outstanding one
/// plus ``size``; so the whole window is 64 bits, and `number % 64` is a place that no other outstanding
/// delivery has.
public struct DeliveryWindow: Hashable, Sendable {
    /// The largest window that the protocol allows.
    public static let largest = 64

    /// Numbers between the oldest outstanding delivery and the newest, both included, at most.
    public let size: Int
    /// The number of the next delivery.
    public private(set) var next: UInt64 = 1
    /// Bit 0 stands for delivery `next - 1`, bit 1 for the one before it; 1: outstanding.
    private var outstanding: UInt64 = 0

    /// A window of 1 to ``largest``.
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

    /// Takes the next number, or nil when the window is full.
    public mutating func advance() -> UInt64? {
        guard hasRoom else { return nil }
        outstanding = outstanding << 1 | 1
        defer { next += 1 }
        return next
    }

    /// Marks deliveries as acknowledged, in any order; the answer is the first number that is not under way
    /// (never sent, or acknowledged before), and then nothing has changed.
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
