/// The upper bounds of a histogram's buckets, in nanoseconds and ascending. Values above the last bound are in one
/// bucket.
public struct HistogramBounds: Sendable, Equatable {
    /// The bounds.
    public let nanoseconds: [UInt64]

    /// Bounds from 100 microseconds to 10 seconds, for processing times.
    public static let latency = HistogramBounds(
        microseconds: [
            100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000,
            2_500_000, 5_000_000, 10_000_000,
        ])

    /// Bounds from 1 millisecond to 7 days, for waiting times, such as those of notifications for an absent device.
    public static let waiting = HistogramBounds(
        microseconds: [
            1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 10_000_000,
            60_000_000, 600_000_000, 3_600_000_000, 21_600_000_000, 86_400_000_000, 604_800_000_000,
        ])

    /// Creates bounds from microseconds, which must be ascending.
    public init(microseconds: [UInt64]) {
        precondition(!microseconds.isEmpty && zip(microseconds, microseconds.dropFirst()).allSatisfy(<))
        nanoseconds = microseconds.map { $0 * 1000 }
    }
}

/// Counts durations by bucket, like a Prometheus histogram. Recording takes a few comparisons and no memory. The
/// recording thread owns the histogram, and others get copies.
public struct Histogram: Sendable, Equatable {
    /// The bounds of the buckets.
    public let bounds: HistogramBounds
    /// The number of durations in each bucket (not cumulative). The last bucket is for values above every bound.
    public private(set) var counts: [UInt64]
    /// The sum of all durations, in nanoseconds. It wraps after 584 years.
    public private(set) var sum: UInt64 = 0

    /// Creates a histogram without values.
    public init(_ bounds: HistogramBounds) {
        self.bounds = bounds
        counts = [UInt64](repeating: 0, count: bounds.nanoseconds.count + 1)
    }

    /// The number of durations.
    public var count: UInt64 { counts.reduce(0, +) }

    /// Counts a duration. Most are short, so buckets are tried from the first on.
    public mutating func record(nanoseconds value: UInt64) {
        var bucket = 0
        while bucket < bounds.nanoseconds.count, value > bounds.nanoseconds[bucket] { bucket += 1 }
        counts[bucket] += 1
        sum &+= value
    }

    /// Adds the values of a histogram with the same bounds.
    public static func += (left: inout Histogram, right: Histogram) {
        precondition(left.bounds == right.bounds, "histograms of one kind are added")
        for bucket in left.counts.indices { left.counts[bucket] += right.counts[bucket] }
        left.sum &+= right.sum
    }
}
