import PostriderNotifications
import PostriderRules
import PostriderYAML

extension ScriptedAnswer {
    /// Reads the answer that a rule dictates; nil if it dictates none.
    init?(_ reader: YAMLReader, lasts: Bool) throws(YAMLError) {
        let status = try reader.integer("status", in: 400...599)
        let reason = try reader.string("reason")
        let custom = try reader.string("customReason")
        let timestamp = try reader.integer("timestamp", in: 0...Int.max)
        let retryAfter = try Self.retryAfter(reader, lasts: lasts)
        let stall = try Self.stall(reader)
        guard status != nil || reason != nil || custom != nil else {
            for (name, isThere) in [
                ("timestamp", timestamp != nil), ("retryAfter", retryAfter != nil), ("stall", stall != nil),
            ] where isThere {
                throw reader.error(name, "belongs to an answer; write 'status' or 'reason' beside it")
            }
            return nil
        }
        let answer = try Self.answer(reader, status, reason, custom)
        self.init(
            status: answer.status, reason: answer.reason, timestamp: timestamp.map(Int64.init),
            retryAfter: retryAfter, stall: stall)
        if timestamp != nil, answer.status != 410 {
            throw reader.error("timestamp", "belongs to status 410 only, not \(answer.status); remove it")
        }
        if retryAfter != nil, answer.status != 429, answer.status != 503 {
            throw reader.error("retryAfter", "belongs to status 429 or 503, not \(answer.status); remove it")
        }
    }

    private static func answer(
        _ reader: YAMLReader, _ status: Int?, _ reason: String?, _ custom: String?
    ) throws(YAMLError) -> (status: Int, reason: String) {
        if let custom {
            guard reason == nil else {
                throw reader.error("customReason", "and 'reason' contradict each other; keep one of them")
            }
            guard let status else {
                throw reader.error("customReason", "needs a 'status' beside it: it goes with none by itself")
            }
            guard (1...64).contains(custom.utf8.count), custom.utf8.allSatisfy(\.isLetterOrDigit) else {
                throw reader.error("customReason", "must be 1 to 64 letters and digits")
            }
            return (status, custom)
        }
        if let reason {
            let rejection = try check(reason, reader, "reason", status: status)
            return (rejection.status, reason)
        }
        guard let status else { preconditionFailure("one of the three is there") }
        guard let usual = usual(for: status) else {
            let known = Rejection.allCases.filter { $0.status == status }.map(\.rawValue)
            throw reader.error(
                "status",
                known.isEmpty
                    ? "\(status) has no reason of APNs; write one as 'customReason'"
                    : "\(status) has several reasons; write 'reason', one of \(known.joined(separator: ", "))"
            )
        }
        return (status, usual.rawValue)
    }

    /// The only rejection with a status; nil if there are several or none.
    private static func usual(for status: Int) -> Rejection? {
        switch status {
        case 410: .unregistered
        case 429: .tooManyRequests
        case 503: .serviceUnavailable
        default:
            Rejection.allCases.count { $0.status == status } == 1
                ? Rejection.allCases.first { $0.status == status } : nil
        }
    }

    /// The rejection with a reason's name, which must fit the status if there is one.
    @discardableResult
    static func check(
        _ reason: String, _ reader: YAMLReader, _ name: String, status: Int?
    ) throws(YAMLError) -> Rejection {
        guard let rejection = Rejection(rawValue: reason) else {
            let meant = Spelling.closest(to: reason, of: Rejection.allCases.map(\.rawValue))
            throw reader.error(
                name,
                "is '\(reason)', which APNs never says; "
                    + (meant.map { "did you mean '\($0)'?" } ?? "see docs/reference/provider-api.md"))
        }
        if let status, status != rejection.status {
            throw reader.error(
                name,
                "is \(reason), which goes with status \(rejection.status), not \(status); correct one of them"
            )
        }
        return rejection
    }

    private static func retryAfter(_ reader: YAMLReader, lasts: Bool) throws(YAMLError) -> RetryAfter? {
        guard try reader.string("retryAfter") == "rest" else {
            // `retry-after` has a resolution of one second.
            return try reader.milliseconds("retryAfter", in: 0...Limits.ruleMilliseconds)
                .map { .seconds(($0 + 999) / 1000) }
        }
        guard lasts else {
            throw reader.error(
                "retryAfter", "is the rest of the rule's time, which has no end; write 'for: 30s'")
        }
        return .rest
    }

    private static func stall(_ reader: YAMLReader) throws(YAMLError) -> Stall? {
        if try reader.string("stall") == "forever" { return .forever }
        return try reader.milliseconds("stall", in: 1...Limits.ruleMilliseconds).map { .milliseconds($0) }
    }
}
