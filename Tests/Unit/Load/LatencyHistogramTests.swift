import PostriderSeededRandom
import Testing

@testable import PostriderLoad

@Suite("A latency histogram")
struct LatencyHistogramTests {
    /// Returns values distributed like latencies: many similar ones, and few very large ones.
    private static func values(_ shape: String, _ count: Int) -> [UInt64] {
        var numbers = SplitMix64(seed: UInt64(count))
        return (0..<count).map { index in
            switch shape {
            case "alike": 100_000
            case "even": UInt64.random(in: 0..<10_000_000, using: &numbers)
            case "small": UInt64.random(in: 0..<1024, using: &numbers)
            case "wide":
                UInt64.random(in: 0..<1 << UInt64.random(in: 1..<43, using: &numbers), using: &numbers)
            default: index.isMultiple(of: 100) ? 5_000_000_000 + UInt64(index) : 90_000 + UInt64(index % 977)
            }
        }
    }

    @Test(
        "answers quantiles within a 512th of the exact ones",
        arguments: ["alike", "even", "small", "wide", "tail"], [1, 2, 10, 999, 20_000])
    func quantiles(_ shape: String, _ count: Int) {
        let values = Self.values(shape, count)
        let sorted = values.sorted()
        var histogram = LatencyHistogram()
        for value in values { histogram.record(value) }

        #expect(histogram.count == UInt64(count))
        #expect(histogram.minimum == sorted.first)
        #expect(histogram.maximum == sorted.last)
        #expect(abs(histogram.mean - Double(values.reduce(0, +)) / Double(count)) < 1)
        for quantile in [0, 0.001, 0.25, 0.5, 0.9, 0.99, 0.999, 0.9999, 1] {
            let rank = max(1, Int((quantile * Double(count)).rounded(.up)))
            let exact = sorted[rank - 1]
            let answer = histogram.value(atQuantile: quantile)
            #expect(answer >= exact, "\(shape) \(count) \(quantile)")
            #expect(answer - exact <= exact / 512, "\(shape) \(count) \(quantile): \(answer) for \(exact)")
        }
    }

    @Test("has buckets without gaps, each as narrow as it says")
    func buckets() {
        var previous = -1
        for bucket in 0..<LatencyHistogram.bucketCount {
            let end = LatencyHistogram.upperEnd(of: bucket)
            #expect(LatencyHistogram.bucket(of: end) == bucket)
            #expect(LatencyHistogram.bucket(of: UInt64(previous + 1)) == bucket)
            #expect(Int(end) - previous <= max(1, Int(end) / 512))
            previous = Int(end)
        }
        #expect(previous == 1 << 44 - 1)
        #expect(LatencyHistogram.bucket(of: .max) == LatencyHistogram.bucketCount - 1)
    }

    @Test("of two threads is the sum of theirs")
    func sum() {
        let values = Self.values("wide", 3000)
        var (whole, left, right) = (LatencyHistogram(), LatencyHistogram(), LatencyHistogram())
        for (index, value) in values.enumerated() {
            whole.record(value)
            if index.isMultiple(of: 3) { left.record(value) } else { right.record(value) }
        }
        var sum = LatencyHistogram()
        for part in [left, LatencyHistogram(), right] { sum.add(part) }
        #expect(sum == whole)
        #expect(whole.count == 3000)
    }

    @Test("that was emptied knows nothing of before")
    func empty() {
        var histogram = LatencyHistogram()
        #expect(histogram.value(atQuantile: 0.5) == 0)
        for value in [5, 7, 1 << 50] as [UInt64] { histogram.record(value) }
        #expect(histogram.value(atQuantile: 1) == 1 << 50)
        histogram.removeAll()
        var fresh = LatencyHistogram()
        for value in [3, 9] as [UInt64] {
            histogram.record(value)
            fresh.record(value)
        }
        #expect(histogram == fresh && histogram.mean == 6)
    }
}
