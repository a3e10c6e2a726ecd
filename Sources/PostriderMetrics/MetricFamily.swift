/// One metric with all its label values, as Prometheus reads it ("Text-based format", version 0.0.4).
public struct MetricFamily: Sendable {
    /// What Prometheus calls a metric's type.
    public enum Kind: String, Sendable {
        /// Only rises, from 0 at the start of the process. Its name ends in `_total`.
        case counter
        /// Rises and falls.
        case gauge
        /// Durations in buckets. Its name ends in `_seconds`.
        case histogram
    }

    /// A label and its value.
    public typealias Label = (name: String, value: String)

    /// A number of a sample, which is written as it is.
    public enum Value: Sendable {
        /// A whole number.
        case integer(Int64)
        /// A whole number that may need all of its bits.
        case unsigned(UInt64)
        /// A fraction.
        case fraction(Double)
    }

    /// One line: the name's ending (`_bucket`, `_sum`, `_count`; empty for all but histograms), labels and value.
    public struct Sample: Sendable {
        /// What follows the family's name.
        public let suffix: String
        /// The labels.
        public let labels: [Label]
        /// The value.
        public let value: Value
    }

    /// The name, unit last: `postrider_push_response_seconds`.
    public let name: String
    /// One sentence.
    public let help: String
    /// The type.
    public let kind: Kind
    /// The lines.
    public private(set) var samples: [Sample] = []

    /// A family without samples.
    public init(_ name: String, _ kind: Kind, _ help: String) {
        precondition((kind == .counter) == name.hasSuffix("_total"), "the name of a counter ends in _total")
        self.name = name
        self.kind = kind
        self.help = help
    }

    /// A counter with one value.
    public static func counter(_ name: String, _ value: UInt64, _ help: String) -> MetricFamily {
        var family = MetricFamily(name, .counter, help)
        family.add(value)
        return family
    }

    /// A gauge with one value.
    public static func gauge(_ name: String, _ value: Int, _ help: String) -> MetricFamily {
        var family = MetricFamily(name, .gauge, help)
        family.add(value)
        return family
    }

    /// A gauge with one value that is a fraction: seconds, most of the time.
    public static func gauge(_ name: String, _ value: Double, _ help: String) -> MetricFamily {
        var family = MetricFamily(name, .gauge, help)
        family.add(value)
        return family
    }

    /// Adds a sample.
    public mutating func add(_ value: UInt64, _ labels: Label...) { add(.unsigned(value), labels) }

    /// Adds a sample.
    public mutating func add(_ value: Int, _ labels: Label...) { add(.integer(Int64(value)), labels) }

    /// Adds a sample.
    public mutating func add(_ value: Double, _ labels: Label...) { add(.fraction(value), labels) }

    /// Adds the samples of a histogram: its buckets, each with all that are below it, its sum and its count.
    public mutating func add(_ histogram: Histogram, _ labels: Label...) {
        precondition(kind == .histogram, "only a histogram has buckets")
        var cumulated: UInt64 = 0
        for (bucket, count) in histogram.counts.enumerated() {
            cumulated += count
            let bounds = histogram.bounds.nanoseconds
            let bound = bucket < bounds.count ? PrometheusText.seconds(bounds[bucket]) : "+Inf"
            samples.append(
                Sample(suffix: "_bucket", labels: labels + [("le", bound)], value: .unsigned(cumulated)))
        }
        samples.append(
            Sample(suffix: "_sum", labels: labels, value: .fraction(Double(histogram.sum) / 1_000_000_000)))
        samples.append(Sample(suffix: "_count", labels: labels, value: .unsigned(cumulated)))
    }

    private mutating func add(_ value: Value, _ labels: [Label]) {
        precondition(kind != .histogram, "a histogram is added as a whole")
        samples.append(Sample(suffix: "", labels: labels, value: value))
    }
}
