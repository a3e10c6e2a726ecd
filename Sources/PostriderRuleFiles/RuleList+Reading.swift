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
        let readers = try reader.required("rules", reader.mappings)
        guard readers.count <= Limits.rules else {
            throw reader.error("rules", "has \(readers.count) rules; \(Limits.rules) is the most")
        }
        var rules: [(rule: PushRule, reader: YAMLReader)] = []
        for reader in readers { rules.append((try PushRule(reader), reader)) }
        // Unknown names are reported first, because they are the cause of other errors.
        try reader.finish()
        for (index, (rule, reader)) in rules.enumerated() {
            if let name = rule.name, let other = rules[..<index].firstIndex(where: { $0.rule.name == name }) {
                throw reader.error("name", "is that of rule \(other + 1), too; give each its own")
            }
            if let other = rules[..<index].firstIndex(where: \.rule.takesEverything) {
                throw reader.error(
                    "can never match: rule \(other + 1) above it takes every push; move that one to the end")
            }
        }
        list.rules = rules.map(\.rule)
        return list
    }
}

extension PushRule {
    /// Whether every push that reaches the rule matches it.
    fileprivate var takesEverything: Bool { condition.isEverything && lastsMilliseconds == nil }

    fileprivate init(_ reader: YAMLReader) throws(YAMLError) {
        let lasts = try reader.milliseconds("for", in: 1...Limits.ruleMilliseconds)
        let match = try reader.mapping("match")
        let effect = try RuleEffect(try reader.required("do", reader.mapping), lasts: lasts != nil)
        self.init(
            name: try reader.string("name"), condition: try match.map(RuleCondition.init) ?? RuleCondition(),
            lastsMilliseconds: lasts, effect: effect)
        if let name, !(1...100).contains(name.count) {
            throw reader.error("name", "must have 1 to 100 characters")
        }
    }
}
