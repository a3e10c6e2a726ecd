/// A moment of wall-clock time, in milliseconds since 1970-01-01T00:00:00Z without leap seconds.
public struct Moment: Hashable, Comparable, Sendable {
    /// Milliseconds since the epoch.
    public let milliseconds: Int64

    /// Later than every other.
    public static let last = Moment(milliseconds: .max)

    /// A moment from milliseconds since the epoch.
    public init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// A moment from seconds since the epoch; a number too large for milliseconds becomes the last moment.
    public init(seconds: Int64) {
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        milliseconds = overflow ? (seconds < 0 ? .min : .max) : product
    }

    /// The whole seconds since the epoch, as far as 32 bits reach: until 2106.
    public var wholeSeconds: UInt32 { UInt32(clamping: milliseconds / 1000) }

    /// Earlier moments come first.
    public static func < (left: Self, right: Self) -> Bool { left.milliseconds < right.milliseconds }

    /// The moment so many milliseconds later; the last moment where that cannot be told.
    public func advanced(byMilliseconds interval: Int64) -> Moment {
        let (sum, overflow) = milliseconds.addingReportingOverflow(interval)
        return overflow ? .last : Moment(milliseconds: sum)
    }
}

/// What becomes of a notification that cannot be delivered at once (`apns-expiration`).
public enum Expiration: Hashable, Sendable {
    /// `0`, or a moment that has passed: one attempt, never stored.
    case nowOrNever
    /// Kept until this moment at most.
    case at(Moment)
}
