/// A metric with all its label values, in Prometheus' model ("Text-based format", version 0.0.4).
public struct MetricFamily: Sendable {
    /// The type of a metric.
    public enum Kind: String, Sendable {
        /// The value only rises, from 0 at the start of the process. The name ends in `_total`.
        case counter
        /// The value rises and falls.
        case gauge
        /// Durations in buckets. The name ends in `_seconds`.
        case histogram
    }

    /// A label and its value.
    public typealias Label = (name: String, value: String)

    /// The value of a sample.
    public enum Value: Sendable {
        /// A whole number.
        case integer(Int64)
        /// A whole number that may exceed an `Int64`.
        case unsigned(UInt64)
        /// A fraction.
        case fraction(Double)
    }

    /// One sample: the suffix of its name (`_bucket`, `_sum`, `_count`; empty except in histograms), labels and
    /// value.
    public struct Sample: Sendable {
        /// The suffix after the name of the family.
        public let suffix: String
        /// The labels.
        public let labels: [Label]
        /// The value.
        public let value: Value
    }

    /// The name, which ends with the unit: `postrider_push_response_seconds`.
    public let name: String
    /// One sentence that describes the metric.
    public let help: String
    /// The type.
    public let kind: Kind
    /// The samples.
    public private(set) var samples: [Sample] = []

    /// Creates a family without samples.
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

    /// A gauge with one fractional value, mostly in seconds.
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

    /// Adds the samples of a histogram: its buckets (cumulative), its sum and its count.
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
