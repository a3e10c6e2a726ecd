/// A time of the wall clock, in milliseconds since 1970-01-01T00:00:00Z without leap seconds.
public struct Moment: Hashable, Comparable, Sendable {
    /// Milliseconds since 1970.
    public let milliseconds: Int64

    /// The latest possible moment.
    public static let last = Moment(milliseconds: .max)

    /// Creates a moment from milliseconds since 1970.
    public init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// Creates a moment from seconds since 1970. A number too large for milliseconds becomes the last moment.
    public init(seconds: Int64) {
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        milliseconds = overflow ? (seconds < 0 ? .min : .max) : product
    }

    /// The whole seconds since 1970, limited to 32 bits, which last until 2106.
    public var wholeSeconds: UInt32 { UInt32(clamping: milliseconds / 1000) }

    /// Orders earlier moments first.
    public static func < (left: Self, right: Self) -> Bool { left.milliseconds < right.milliseconds }

    /// The moment later by this many milliseconds; the last moment if the sum overflows.
    public func advanced(byMilliseconds interval: Int64) -> Moment {
        let (sum, overflow) = milliseconds.addingReportingOverflow(interval)
        return overflow ? .last : Moment(milliseconds: sum)
    }
}

/// What happens to a notification that cannot be delivered at once (`apns-expiration`).
public enum Expiration: Hashable, Sendable {
    /// The value `0`, or a moment that has passed: one attempt, and no storage.
    case nowOrNever
    /// The notification is stored until this moment at most.
    case at(Moment)
}
