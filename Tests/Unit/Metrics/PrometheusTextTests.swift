import PostriderMetrics
import Testing

@Suite("Metrics as Prometheus reads them")
struct PrometheusTextTests {
    @Test("a family is its help, its type and a line for each label value")
    func family() {
        var family = MetricFamily("postrider_pushes_total", .counter, "Pushes that were answered.")
        family.add(UInt64.max, ("outcome", "accepted"))
        family.add(2, ("outcome", "rejected"), ("reason", "BadDeviceToken"))
        #expect(
            PrometheusText.text(of: [family]) == """
                # HELP postrider_pushes_total Pushes that were answered.
                # TYPE postrider_pushes_total counter
                postrider_pushes_total{outcome="accepted"} 18446744073709551615
                postrider_pushes_total{outcome="rejected",reason="BadDeviceToken"} 2

                """)
    }

    @Test("whatever a label's value or a help text contains stays on its line")
    func escapes() {
        var family = MetricFamily("depth", .gauge, "A \\ and\na \"quote\".")
        family.add(-1, ("box", "a\"b\\c\nd"))
        #expect(
            PrometheusText.text(of: [family]) == #"""
                # HELP depth A \\ and\na "quote".
                # TYPE depth gauge
                depth{box="a\"b\\c\nd"} -1

                """#)
    }

    @Test("numbers that are none are spelled as Prometheus spells them")
    func numbers() {
        let families = [
            MetricFamily.gauge("a", 0.25, "A."), .gauge("b", Double.infinity, "B."),
            .gauge("c", -Double.infinity, "C."), .gauge("d", Double.nan, "D."), .counter("e_total", 7, "E."),
        ]
        let values = PrometheusText.text(of: families).split(separator: "\n").filter { !$0.hasPrefix("#") }
        #expect(values == ["a 0.25", "b +Inf", "c -Inf", "d NaN", "e_total 7"])
    }

    @Test("a family without samples is left out")
    func empty() {
        #expect(PrometheusText.text(of: [MetricFamily("a", .gauge, "A.")]) == "")
    }

    @Test("the buckets of a histogram are cumulated, and its bounds are seconds")
    func histogram() {
        var histogram = Histogram(HistogramBounds(microseconds: [100, 2_500, 1_500_000]))
        for value: UInt64 in [0, 100_000, 100_001, 1_500_000_000, 1_500_000_001] {
            histogram.record(nanoseconds: value)
        }
        var family = MetricFamily("wait_seconds", .histogram, "Waits.")
        family.add(histogram, ("side", "device"))
        #expect(
            PrometheusText.text(of: [family]) == """
                # HELP wait_seconds Waits.
                # TYPE wait_seconds histogram
                wait_seconds_bucket{side="device",le="0.0001"} 2
                wait_seconds_bucket{side="device",le="0.0025"} 3
                wait_seconds_bucket{side="device",le="1.5"} 4
                wait_seconds_bucket{side="device",le="+Inf"} 5
                wait_seconds_sum{side="device"} 3.000200002
                wait_seconds_count{side="device"} 5

                """)
    }

    @Test(
        "histograms of several threads add up to the one of all their values",
        arguments: [HistogramBounds.latency, .waiting])
    func sum(bounds: HistogramBounds) {
        var (all, left, right) = (Histogram(bounds), Histogram(bounds), Histogram(bounds))
        for number in 0..<2000 as Range<UInt64> {
            let value = number * number * 997 * number
            all.record(nanoseconds: value)
            if number.isMultiple(of: 3) {
                left.record(nanoseconds: value)
            } else {
                right.record(nanoseconds: value)
            }
        }
        left += right
        #expect(left == all)
        #expect(all.count == 2000)
    }
}
