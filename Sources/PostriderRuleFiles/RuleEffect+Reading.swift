import PostriderHTTP2
import PostriderNotifications
import PostriderRules
import PostriderYAML

/// How a rule closes a connection.
private enum Closing: String, CaseIterable {
    /// With TLS's close_notify.
    case clean
    /// Without it, as if a cable were cut.
    case abrupt
}

extension RuleEffect {
    /// - Parameter lasts: whether the rule applies only for a limited time.
    init(_ reader: YAMLReader, lasts: Bool) throws(YAMLError) {
        self.init()
        delay = try Self.delay(reader)
        goaway = try Self.goaway(reader)
        connection = try ConnectionEffect(reader)
        device = try DeviceEffect(reader)
        outcome = try Self.outcome(reader, lasts: lasts)
        guard outcome != .pass || delay != nil || goaway != nil || connection.isSomething || device != nil
        else {
            // A misspelt word is named first.
            try reader.finish()
            throw reader.error("does nothing; write what to do, such as 'status: 503' or 'delay: 200ms'")
        }
        if case .close = outcome, let name = connection.nameOfLasting {
            throw reader.error(name, "and 'close' contradict each other: no connection is left; keep one")
        }
        switch outcome {
        case .close where goaway != nil:
            throw reader.error(
                "goaway", "and 'close' contradict each other; after a GOAWAY pushes are answered")
        case .reset where goaway?.time == .after:
            throw reader.error(
                "goaway", "comes after an answer, and 'reset' gives none; write 'goaway: before'")
        case .answer, .close, .lose, .pass, .reset, .unregister: break
        }
        if device != nil, outcome != .pass {
            throw reader.error(
                "device", "is about a push that is delivered, and this rule ends it before; keep one of both")
        }
        if let goaway, goaway.time == .before, goaway.lastStream != .latest,
            outcome != .pass || delay != nil || device != nil
        {
            throw reader.error(
                "goaway",
                "before the answer names the last stream that is answered: a push above it gets nothing "
                    + "else; keep 'goaway' alone, or write 'when: after'")
        }
    }

    // MARK: What comes of the push

    private static func outcome(_ reader: YAMLReader, lasts: Bool) throws(YAMLError) -> Outcome {
        var found: [(name: String, outcome: Outcome)] = []
        if let answer = try ScriptedAnswer(reader, lasts: lasts) {
            found.append((try reader.string("status") == nil ? "reason" : "status", .answer(answer)))
        }
        if try flag(reader, "lose") { found.append(("lose", .lose)) }
        if try flag(reader, "unregister") { found.append(("unregister", .unregister)) }
        if let code = try errorCode(reader, "reset") { found.append(("reset", .reset(code))) }
        if let closing = try reader.choice("close", of: Closing.self) {
            found.append(("close", .close(notifies: closing == .clean)))
        }
        guard found.count < 2 else {
            throw reader.error(
                found[1].name,
                "and '\(found[0].name)' contradict each other; a push comes to one end, keep one")
        }
        return found.first?.outcome ?? .pass
    }

    /// A setting that is `true` or `false`; a missing one is `false`.
    private static func flag(_ reader: YAMLReader, _ name: String) throws(YAMLError) -> Bool {
        try reader.boolean(name) ?? false
    }

    // MARK: What is done besides

    private static func delay(_ reader: YAMLReader) throws(YAMLError) -> Delay? {
        let range = 0...Limits.ruleMilliseconds
        guard reader.isMapping("delay"), let drawn = try reader.mapping("delay") else {
            return try reader.milliseconds("delay", in: range).map { .fixed($0) }
        }
        let (from, to) = (try drawn.milliseconds("from", in: range), try drawn.milliseconds("to", in: range))
        let mean = try drawn.milliseconds("mean", in: range)
        let deviation = try drawn.milliseconds("deviation", in: range)
        try drawn.finish()
        switch (from, to, mean, deviation) {
        case (let from?, let to?, nil, nil):
            guard from <= to else { throw drawn.error("to", "is shorter than 'from'; exchange them") }
            return .uniform(from...to)
        case (nil, nil, let mean?, nil): return .exponential(mean: mean)
        case (nil, nil, let mean?, let deviation?): return .normal(mean: mean, deviation: deviation)
        default:
            throw drawn.error(
                "has 'from' and 'to', or 'mean', or 'mean' and 'deviation'; keep one of the three")
        }
    }

    private static func goaway(_ reader: YAMLReader) throws(YAMLError) -> Goaway? {
        guard reader.isMapping("goaway"), let full = try reader.mapping("goaway") else {
            return try reader.choice("goaway", of: Goaway.Time.self).map { Goaway($0) }
        }
        let time = try full.required("when") { (name) throws(YAMLError) in
            try full.choice(name, of: Goaway.Time.self)
        }
        let reason = try full.string("reason")
        if let reason { try ScriptedAnswer.check(reason, full, "reason", status: nil) }
        return Goaway(
            time, code: try errorCode(full, "code") ?? ErrorCode.noError, reason: reason,
            lastStream: try lastStream(full))
    }

    private static func lastStream(_ reader: YAMLReader) throws(YAMLError) -> Goaway.LastStream {
        guard let text = try reader.string("lastStream") else { return .latest }
        if text == "previous" { return .previous }
        // Streams of a client have odd numbers (RFC 9113, section 5.1.1).
        guard let number = Int32(text), number == 0 || number > 0 && !number.isMultiple(of: 2) else {
            throw reader.error(
                "lastStream",
                "must be previous, 0, or the odd number of a stream such as 5, not '\(text)'")
        }
        return .number(number)
    }

    /// The names of the error codes in RFC 9113, section 7.
    private static let codes = (0...13).map { ErrorCode.name($0) }

    private static func errorCode(_ reader: YAMLReader, _ name: String) throws(YAMLError) -> UInt32? {
        guard let text = try reader.string(name) else { return nil }
        if let code = codes.firstIndex(of: text) { return UInt32(code) }
        if let code = UInt32(text) { return code }
        let meant = Spelling.closest(to: text, of: codes).map { "; did you mean \($0)?" } ?? ""
        throw reader.error(
            name, "must be an error code of HTTP/2 such as REFUSED_STREAM, not '\(text)'\(meant)")
    }
}
