/// One condition on a result, such as `p99<5ms`, `lost=0`, `accepted/s>100k` or `storm.accept.p99<2*before.accept.p99`.
public struct Expectation: Sendable, Equatable {
    /// The operators.
    enum Relation: String, CaseIterable {
        case atMost = "<="
        case atLeast = ">="
        case equal = "=="
        case different = "!="
        case less = "<"
        case more = ">"
        case same = "="

        func holds(_ left: Double, _ right: Double) -> Bool {
            switch self {
            case .less: left < right
            case .atMost: left <= right
            case .more: left > right
            case .atLeast: left >= right
            case .equal, .same: left == right
            case .different: left != right
            }
        }
    }

    /// The right side of a condition.
    enum Bound: Equatable {
        /// A number.
        case number(Double)
        /// A length of time.
        case microseconds(Double)
        /// Another figure of the same result, multiplied by a factor.
        case metric(String, factor: Double)
    }

    /// An error in the text of a condition.
    public struct Mistake: Error, Equatable, CustomStringConvertible {
        /// The end of a sentence that says what is wrong.
        public let description: String
    }

    let metric: String
    let relation: Relation
    let bound: Bound
    /// The condition as it was written.
    public let text: String

    /// Reads conditions that are separated by commas.
    public static func parse(_ text: String) throws(Mistake) -> [Expectation] {
        var all: [Expectation] = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            all.append(try Expectation(String(part)))
        }
        return all
    }

    private init(_ text: String) throws(Mistake) {
        let trimmed = text.filter { $0 != " " }
        let operators = trimmed.indices.filter { "<>=!".contains(trimmed[$0]) }
        guard let first = operators.first, let last = operators.last,
            let relation = Relation(rawValue: String(trimmed[first...last])), first > trimmed.startIndex
        else {
            throw Mistake(description: "'\(text)' is no expectation; write one such as p99<5ms or lost=0")
        }
        metric = String(trimmed[..<first])
        self.relation = relation
        bound = try Self.bound(String(trimmed[trimmed.index(after: last)...]), in: text)
        self.text = trimmed
    }

    private static func bound(_ text: String, in whole: String) throws(Mistake) -> Bound {
        if let microseconds = number(text, times) { return .microseconds(microseconds) }
        if let number = number(text, units) { return .number(number) }
        let parts = text.split(separator: "*", omittingEmptySubsequences: false)
        if parts.count == 2, let factor = Double(parts[0]), factor.isFinite, isName(parts[1]) {
            return .metric(String(parts[1]), factor: factor)
        }
        if parts.count == 1, isName(parts[0]) { return .metric(text, factor: 1) }
        throw Mistake(
            description:
                "'\(whole)' compares with '\(text)'; write a number (5ms, 250us, 100k, 14) or a figure "
                + "(2*before.p99)"
        )
    }

    private static func isName(_ text: Substring) -> Bool {
        guard let first = text.first, first.isLetter else { return false }
        return text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "./-".contains($0)) }
    }

    private static let times: [(suffix: String, worth: Double)] = [
        ("us", 1), ("µs", 1), ("ms", 1000), ("s", 1_000_000),
    ]
    private static let units: [(suffix: String, worth: Double)] = [
        ("KiB", 1), ("k", 1000), ("M", 1_000_000), ("", 1),
    ]

    private static func number(_ text: String, _ units: [(suffix: String, worth: Double)]) -> Double? {
        for unit in units where text.hasSuffix(unit.suffix) {
            let digits = text.dropLast(unit.suffix.count)
            guard let first = digits.first, first.isNumber || first == ".", let value = Double(digits),
                value.isFinite
            else { continue }
            return value * unit.worth
        }
        return nil
    }

    /// Throws if no run of this plan can have the figure. The user learns that before the run and not after hours of
    /// it.
    public func check(for plan: LoadPlan) throws(Mistake) {
        let metrics = LoadMetrics(fullestOf: plan)
        let names = if case .metric(let other, _) = bound { [metric, other] } else { [metric] }
        for name in names where metrics[name] == nil {
            let phases = plan.phases.joined(separator: ", ")
            throw Mistake(
                description:
                    "'\(text)' asks for '\(name)', which is no figure of this scenario; its phases are "
                    + "\(phases), and docs/reference/load-figures.md has the figures")
        }
        if case .microseconds = bound, let unit = metrics[metric]?.unit, !unit.isTime {
            throw Mistake(description: "'\(text)' compares with a time, but \(metric) is not a time")
        }
    }

    /// One sentence if the condition does not hold; nil if it does.
    public func miss(in metrics: LoadMetrics) -> String? {
        guard let left = metrics[metric] else {
            return "There is no figure \(metric) in this run to expect \(text) of."
        }
        let right: Double
        switch bound {
        case .number(let number): right = number
        case .microseconds(let time): right = left.unit == .seconds ? time / 1_000_000 : time
        case .metric(let name, let factor):
            guard let other = metrics[name] else {
                return "There is no figure \(name) in this run to compare with in \(text)."
            }
            right = factor * other.value
        }
        guard !relation.holds(left.value, right) else { return nil }
        let other = if case .metric = bound { ", and that is \(left.unit.text(right))" } else { "" }
        return "Expected \(text), but \(metric) is \(left.unit.text(left.value))\(other)."
    }
}

extension LoadMetrics {
    /// All figures that a run of this plan can have, each with a value near 1.
    fileprivate init(fullestOf plan: LoadPlan) {
        var record = PhaseRecord()
        record.nanoseconds = 1_000_000_000
        record.acceptance.record(1000)
        record.delivery.record(1000)
        let server = LoadResult.Server(
            userSeconds: 1, systemSeconds: 0, idlePSSKiB: 0, pssKiB: 1, connections: 1)
        self.init(
            LoadResult(
                scenario: plan.name, startedAt: 0, machine: .init(cores: 1, processor: "", kernel: ""),
                devices: 1,
                apps: 1, providers: 1, streams: 1, threads: 1, processors: 1, mainPhase: plan.mainPhase,
                phases: plan.phases.map {
                    LoadResult.Phase(
                        name: $0, record, backlog: 0, server: server, ownCPUSeconds: 1, stolenSeconds: 1)
                },
                verdict: .init(
                    lost: 0, doubled: 0, repeated: 0, strayed: 0, altered: 0, lostIdentities: []),
                timeline: [], leakKiBPerMinute: 1))
    }
}

extension LoadMetrics.Unit {
    /// Whether the unit is one of time.
    fileprivate var isTime: Bool { self == .microseconds || self == .seconds }

    /// A value with its unit, for people.
    public func text(_ value: Double) -> String {
        switch self {
        case .microseconds:
            switch abs(value) {
            case ..<1000: return "\(Self.rounded(value)) µs"
            case ..<1_000_000: return "\(Self.rounded(value / 1000)) ms"
            default: return "\(Self.rounded(value / 1_000_000)) s"
            }
        case .seconds: return "\(Self.rounded(value)) s"
        case .kibibytes: return "\(Self.rounded(value)) KiB"
        case .count, .perSecond, .perCPUSecond, .ratio: return Self.rounded(value)
        }
    }

    /// Three significant digits, with separators between thousands.
    private static func rounded(_ value: Double) -> String {
        let size = abs(value)
        guard size < 1e15 else { return "\(value)" }
        guard size < 100 else {
            let digits = String(Int(value.rounded()))
            var text = ""
            for (index, digit) in digits.enumerated() {
                let rest = digits.count - index
                if index > 0, rest % 3 == 0,
                    digits[digits.index(digits.startIndex, offsetBy: index - 1)] != "-"
                {
                    text += ","
                }
                text.append(digit)
            }
            return text
        }
        let places = size < 10 ? 100.0 : 10.0
        let rounded = (value * places).rounded() / places
        return rounded == rounded.rounded() ? String(Int(rounded)) : String(rounded)
    }
}
