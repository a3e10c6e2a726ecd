import PostriderNotifications
public import PostriderRules
public import PostriderYAML

extension RuleList {
    /// Reads a list of rules from YAML or JSON (docs/reference/rules.md).
    ///
    /// - Parameter file: the name of the text in errors.
    /// - Throws: one sentence with file and line for the first mistake: an unknown setting, contradicting values, or
    ///   a rule that can never match.
    public static func reading(_ text: String, file: String) throws(YAMLError) -> RuleList {
        let reader = try YAMLReader.reading(text: JSONEscapes.yaml(text), file: file)
        var list = RuleList()
        if let seed = try reader.integer("seed", in: 0...Int.max) { list.seed = UInt64(seed) }
        // For readers of the file.
        for name in ["title", "source", "about"] { _ = try reader.string(name) }
        let rules = try PhasedRule.all(in: reader)
        // Unknown names are reported first, because they are the cause of other errors.
        try reader.finish()
        for (index, item) in rules.enumerated() {
            let earlier = rules[..<index]
            if let name = item.rule.name, let other = earlier.firstIndex(where: { $0.rule.name == name }) {
                throw item.reader.error("name", "is that of rule \(other + 1), too; give each its own")
            }
            if let other = earlier.firstIndex(where: { $0.rule.takesAll(of: item.rule) }) {
                let pushes = earlier[other].rule.condition.isEverything ? "every push" : "all of its pushes"
                throw item.reader.error(
                    "can never match: rule \(other + 1) above it takes \(pushes); move that one to the end")
            }
        }
        list.rules = rules.map(\.rule)
        return list
    }
}

/// A rule with the reader of its text.
private struct PhasedRule {
    let rule: PushRule
    let reader: YAMLReader

    /// The rules of a text: those of `rules`, or those of all `phases`.
    static func all(in reader: YAMLReader) throws(YAMLError) -> [PhasedRule] {
        guard let phases = try reader.mappings("phases") else {
            let readers = try reader.required("rules", reader.mappings)
            try checkCount(readers.count, reader, "rules")
            return try rules(readers, of: nil)
        }
        guard !reader.has("rules") else {
            throw reader.error("rules", "and 'phases' exclude each other: put each rule into a phase")
        }
        guard (1...Limits.rulePhases).contains(phases.count) else {
            throw reader.error("phases", "has \(phases.count) phases; 1 to \(Limits.rulePhases) are possible")
        }
        var found: [PhasedRule] = []
        var begin: Int? = 0
        for phase in phases {
            guard let from = begin else {
                throw phase.error(
                    "can never begin: the phase above it has no 'for' and does not end; give it one")
            }
            _ = try phase.string("name")
            let lasts = try phase.milliseconds("for", in: 1...Limits.ruleMilliseconds)
            begin = lasts.map { from + $0 }
            found += try rules(try phase.mappings("rules") ?? [], of: RulePhase(from: from, to: begin))
            try checkCount(found.count, phase, "rules")
        }
        return found
    }

    private static func rules(_ readers: [YAMLReader], of phase: RulePhase?) throws(YAMLError) -> [PhasedRule]
    {
        var rules: [PhasedRule] = []
        for reader in readers {
            rules.append(PhasedRule(rule: try PushRule(reader, of: phase), reader: reader))
        }
        return rules
    }

    private static func checkCount(_ count: Int, _ reader: YAMLReader, _ name: String) throws(YAMLError) {
        guard count > Limits.rules else { return }
        throw reader.error(name, "has \(count) rules; \(Limits.rules) is the most")
    }
}

extension PushRule {
    /// Whether every push that would match a later rule of the same phase matches this one.
    fileprivate func takesAll(of later: PushRule) -> Bool {
        guard phase == later.phase, lastsMilliseconds == nil, condition.ordinals == nil,
            condition.probability == nil
        else { return false }
        let (mine, other) = (condition, later.condition)
        return (mine.token == nil || mine.token == other.token)
            && (mine.topic == nil || mine.topic == other.topic)
            && (mine.pushType == nil || mine.pushType == other.pushType)
            && (mine.connection == nil || mine.connection == other.connection)
            && mine.headers.allSatisfy { field in other.headers.contains { $0 == field } }
            && mine.payload.allSatisfy(other.payload.contains)
    }

    fileprivate init(_ reader: YAMLReader, of phase: RulePhase?) throws(YAMLError) {
        let lasts = try reader.milliseconds("for", in: 1...Limits.ruleMilliseconds)
        let match = try reader.mapping("match")
        let ends = lasts != nil || phase?.to != nil
        let effect = try RuleEffect(try reader.required("do", reader.mapping), lasts: ends)
        self.init(
            name: try reader.string("name"), condition: try match.map(RuleCondition.init) ?? RuleCondition(),
            lastsMilliseconds: lasts, effect: effect, phase: phase)
        if let name, !(1...100).contains(name.count) {
            throw reader.error("name", "must have 1 to 100 characters")
        }
    }
}
