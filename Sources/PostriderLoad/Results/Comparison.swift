/// Compares two results: the figures that both have, and their ratios.
public struct Comparison: Sendable, Equatable {
    /// One figure in both results.
    struct Row: Sendable, Equatable {
        let name: String
        let now: Double
        let before: Double
        let unit: LoadMetrics.Unit
        /// The new value divided by the old one; nil if the old one is 0.
        let ratio: Double?
        /// Whether the new value is better; nil if that cannot be said.
        let isBetter: Bool?
    }

    let rows: [Row]
    /// Differences between the settings of the two runs: with them the figures say little about the server.
    let differences: [String]

    /// Compares the figures of the main phase, of the verdict, and of the phases that both results have.
    public init(of result: LoadResult, with baseline: LoadResult) {
        differences = Self.differences(of: result, from: baseline)
        let (now, before) = (LoadMetrics(result), LoadMetrics(baseline))
        rows = now.all.compactMap { metric in
            // The figures of the main phase are listed under their plain names already.
            guard !metric.name.hasPrefix(result.mainPhase + "."), let other = before[metric.name] else {
                return nil
            }
            guard metric.value != 0 || other.value != 0 else { return nil }
            return Row(
                name: metric.name, now: metric.value, before: other.value, unit: metric.unit,
                ratio: other.value == 0 ? nil : metric.value / other.value,
                isBetter: metric.isMoreBetter.flatMap { isMoreBetter in
                    metric.value == other.value ? nil : (metric.value > other.value) == isMoreBetter
                })
        }
    }

    /// The comparison as lines for a terminal.
    public var text: String {
        let head = ["figure", "now", "before", "ratio", ""]
        let lines = rows.map { row in
            let ratio = row.ratio.map { "\(($0 * 1000).rounded() / 1000)" } ?? "–"
            let word = row.isBetter.map { $0 ? "better" : "worse" } ?? ""
            return [row.name, row.unit.text(row.now), row.unit.text(row.before), ratio, word]
        }
        return (differences + ResultTable.columns([head] + lines)).joined(separator: "\n")
    }

    private static func differences(of result: LoadResult, from baseline: LoadResult) -> [String] {
        func difference<Value: Equatable>(_ name: String, _ value: (LoadResult) -> Value) -> String? {
            let (now, before) = (value(result), value(baseline))
            return now == before ? nil : "The two differ in \(name): \(now), and \(before) before."
        }
        return [
            difference("their scenario", \.scenario), difference("devices", \.devices),
            difference("apps", \.apps), difference("providers", \.providers),
            difference("streams", \.streams), difference("threads", \.threads),
            difference("the machine's processors", \.machine.cores),
            difference("the machine", \.machine.processor),
            difference("the phase that counts", \.mainPhase),
            difference("what p50 and its like are of") { result in
                let main = result.phases.first { $0.name == result.mainPhase }
                return main?.delivery == nil ? "answers" : "deliveries"
            },
        ].compactMap(\.self)
    }
}
