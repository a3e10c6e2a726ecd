import PostriderTransport

/// The rules of a relay for tests: what it does with which pushes. `docs/reference/rules.md` has their language.
public struct RelayRules: Sendable {
    private let control: SocketAddress

    init(control: SocketAddress) { self.control = control }

    /// Replaces all rules.
    ///
    /// - Parameter text: a file of rules, as YAML or JSON, such as `rules: [{do: {status: 503}}]`.
    /// - Throws: ``TestRelayError`` with line and column if the rules are wrong. The former rules stay in use then.
    public func set(_ text: String) async throws(TestRelayError) {
        _ = try await ControlRequest.send("PUT", "/v1/rules", body: Array(text.utf8), to: control)
    }

    /// Removes all rules.
    public func clear() async throws(TestRelayError) { try await set("rules: []") }

    /// How many pushes each rule has decided about, in the order of the rules.
    public func counts() async throws(TestRelayError) -> [RuleCount] {
        let body = try await ControlRequest.send("GET", "/v1/rules", to: control)
        // The answer is a list, and only objects can be read.
        let answer = Answer("{\"rules\":" + String(decoding: body, as: UTF8.self) + "}")
        return (answer?["rules"]?.array ?? []).compactMap { RuleCount($0) }
    }
}

/// How often a rule was used.
public struct RuleCount: Sendable, Equatable {
    /// The number of the rule, from 1.
    public let rule: Int
    /// The name of the rule; nil if it has none.
    public let name: String?
    /// The pushes that fulfilled its conditions apart from `nth`, `per` and `probability`.
    public let considered: Int
    /// The pushes about which it decided.
    public let matched: Int

    init?(_ value: PayloadValue) {
        guard let rule = value["rule"]?.integer, let considered = value["considered"]?.integer,
            let matched = value["matched"]?.integer
        else { return nil }
        self.rule = Int(rule)
        name = value["name"]?.string
        self.considered = Int(considered)
        self.matched = Int(matched)
    }
}
