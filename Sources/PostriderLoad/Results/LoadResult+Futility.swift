extension LoadResult {
    /// One sentence if pushes or broadcasts were to be made and none was accepted: then the figures say nothing about
    /// how the server handles pushes. Nil otherwise.
    public func futility(of plan: LoadPlan) -> String? {
        var (sent, unanswered) = (UInt64(0), UInt64(0))
        var refused: [String: UInt64] = [:]
        for phase in phases {
            guard phase.accepted + phase.broadcasts == 0 else { return nil }
            sent += phase.sent
            unanswered += phase.unanswered
            refused.merge(phase.refused, uniquingKeysWith: +)
        }
        guard sent > 0 else {
            guard plan.steps.contains(where: \.action.isPush) else { return nil }
            return "Nothing was pushed: no device registered in time."
        }
        var parts: [String] = []
        if let most = refused.max(by: { ($0.value, $1.key) < ($1.value, $0.key) })?.key {
            let count = refused.values.reduce(0, +)
            parts.append("\(count) of \(sent) pushes were refused, most of them with: \(most)")
        }
        if unanswered > 0 {
            parts.append("\(unanswered)\(parts.isEmpty ? " of \(sent) pushes" : "") had no answer")
        }
        return "Nothing was accepted: \(parts.joined(separator: "; "))."
    }
}

extension Expectation {
    /// Whether the condition is about answers, accepted or not. If it holds, it may be intended that no push was
    /// accepted.
    public var isOfAnswers: Bool {
        let figures = ["accepted", "refused", "unanswered"]
        return figures.contains { metric == $0 || metric.hasSuffix("." + $0) }
    }
}
