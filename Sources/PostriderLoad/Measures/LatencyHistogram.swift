/// Counts latencies in fixed memory, with buckets that grow with the value, as in Tene's HDR histogram. Values are
/// nanoseconds. A bucket is at most 1/512 of its value wide, so every percentile is within 0.2 % of the exact one.
/// Below 1024 ns every value has a bucket of its own.
///
/// The sum of two histograms is the histogram of all their values, so each thread keeps its own.
public struct LatencyHistogram: Sendable, Equatable {
    /// Each power of two is split into this many buckets.
    private static let subBuckets = 512
    private static let subBucketBits = 9
    /// Values of this many bits or more (4.8 hours) share the last bucket. The maximum is exact all the same.
    private static let valueBits = 44
    /// How many buckets there are; 144 KiB.
    static let bucketCount = (valueBits - subBucketBits) * subBuckets + subBuckets

    private var counts: [UInt64] = []
    /// How many values there are.
    public private(set) var count: UInt64 = 0
    /// The smallest value; 0 if there are no values.
    public private(set) var minimum: UInt64 = 0
    /// The largest value, exactly; 0 if there are no values.
    public private(set) var maximum: UInt64 = 0
    private var sum: UInt64 = 0

    /// A histogram without values. It takes memory with its first value.
    public init() {}

    /// The mean; 0 if there are no values.
    public var mean: Double { count == 0 ? 0 : Double(sum) / Double(count) }

    /// Adds a value.
    public mutating func record(_ value: UInt64) {
        if counts.isEmpty { counts = [UInt64](repeating: 0, count: Self.bucketCount) }
        counts[Self.bucket(of: value)] += 1
        minimum = count == 0 ? value : min(minimum, value)
        maximum = max(maximum, value)
        sum &+= value
        count += 1
    }

    /// Adds all values of another histogram.
    public mutating func add(_ other: LatencyHistogram) {
        guard other.count > 0 else { return }
        guard count > 0 else { return self = other }
        for index in counts.indices { counts[index] += other.counts[index] }
        minimum = min(minimum, other.minimum)
        maximum = max(maximum, other.maximum)
        sum &+= other.sum
        count += other.count
    }

    /// Forgets all values and keeps the memory.
    public mutating func removeAll() {
        guard count > 0 else { return }
        for index in counts.indices { counts[index] = 0 }
        (count, minimum, maximum, sum) = (0, 0, 0, 0)
    }

    /// The smallest value that at least this share of all values does not exceed (nearest rank), as the upper end of
    /// its bucket; 0 if there are no values. `quantile` is from 0 to 1.
    public func value(atQuantile quantile: Double) -> UInt64 {
        guard count > 0 else { return 0 }
        let rank = max(1, UInt64((quantile * Double(count)).rounded(.up)))
        guard rank < count else { return maximum }
        var seen: UInt64 = 0
        for (index, occurrences) in counts.enumerated() where occurrences > 0 {
            seen += occurrences
            if seen >= rank { return min(max(Self.upperEnd(of: index), minimum), maximum) }
        }
        return maximum
    }

    /// The bucket of a value.
    static func bucket(of value: UInt64) -> Int {
        guard value >= UInt64(subBuckets) else { return Int(value) }
        guard value < 1 << UInt64(valueBits) else { return bucketCount - 1 }
        // The highest bit says which power of two the value lies in, the nine bits below it which part of that.
        let power = 63 - value.leadingZeroBitCount
        let part = Int(value >> UInt64(power - subBucketBits)) - subBuckets
        return subBuckets + (power - subBucketBits) * subBuckets + part
    }

    /// The largest value of a bucket.
    static func upperEnd(of bucket: Int) -> UInt64 {
        guard bucket >= subBuckets else { return UInt64(bucket) }
        let power = (bucket - subBuckets) / subBuckets
        let part = (bucket - subBuckets) % subBuckets
        return UInt64(subBuckets + part + 1) << UInt64(power) - 1
    }
}
