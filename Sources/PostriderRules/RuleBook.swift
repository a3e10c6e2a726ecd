import PostriderJSON
public import PostriderNotifications
import PostriderSeededRandom

/// The properties of a push that rules use.
public struct PushFacts: Sendable {
    /// The device token, in lower case.
    public var token: String
    /// The topic.
    public var topic: String
    /// The push type (`apns-push-type`); nil if the provider sent none.
    public var pushType: PushType?
    /// The header fields in the order in which they were sent.
    public var headers: [(name: String, value: String)]
    /// The body.
    public var payload: [UInt8]
    /// The `apns-id` of the answer.
    public var identity: String
    /// The number of the provider's connection, from 1 on.
    public var connection: Int

    /// Creates the facts from their parts.
    public init(
        token: String, topic: String, pushType: PushType?, headers: [(name: String, value: String)],
        payload: [UInt8], identity: String, connection: Int
    ) {
        self.token = token
        self.topic = topic
        self.pushType = pushType
        self.headers = headers
        self.payload = payload
        self.identity = identity
        self.connection = connection
    }
}

/// The decision of a rule about one push.
public struct RuleDecision: Sendable, Equatable {
    /// The rule's position in its list, from 1 on.
    public var rule: Int
    /// The rule's name.
    public var name: String?
    /// What happens to the push. With ``RuleEffect/Outcome/unregister`` this is the answer that it gets.
    public var outcome: RuleEffect.Outcome
    /// The delay of the outcome in milliseconds.
    public var delayMilliseconds = 0
    /// A GOAWAY that is sent as well; nil for none.
    public var goaway: Goaway?
    /// What is done to the connection.
    public var connection = ConnectionEffect()
    /// What is done to the device of the push; nil for nothing.
    public var device: DeviceEffect?
}

/// A list of rules in use. It decides about pushes in the order of their arrival, and counts matches.
public struct RuleBook: Sendable {
    /// How often a rule has matched.
    public struct Count: Sendable, Equatable {
        /// The rule's position in its list, from 1 on.
        public var rule: Int
        /// The rule's name.
        public var name: String?
        /// The number of pushes that fulfilled its conditions, apart from `nth`, `probability` and the time for which
        /// it applies.
        public var considered: Int
        /// The number of pushes that it decided about.
        public var matched: Int
    }

    fileprivate struct Row {
        let rule: PushRule
        var considered = 0
        var matched = 0
        var firstMatch: Moment?
        var random: SplitMix64
        /// The number of pushes of each token, connection or identity.
        var scopes: [String: Int] = [:]
    }

    private var rows: [Row]
    /// The time from which phases are counted: that of the first push unless ``begin(at:)`` was called; nil before it.
    private var start: Moment?
    /// Tokens that rules have unregistered, with the time and the index of the rule.
    private var unregistered: [String: (since: Moment, row: Int)] = [:]
    private var unregisteredInOrder: [String] = []
    /// Whether any rule has conditions on payloads.
    private let readsPayloads: Bool

    /// Creates a rule book from a list. No rule has matched yet.
    public init(_ list: RuleList) {
        rows = list.rules.enumerated().map { index, rule in
            // Each rule has its own random numbers, so that adding a rule at the end does not change what the others
            // draw.
            Row(rule: rule, random: SplitMix64(seed: list.seed ^ UInt64(index + 1) &* 0xD1B5_4A32_D192_ED03))
        }
        readsPayloads = list.rules.contains { !$0.condition.payload.isEmpty }
    }

    /// Counts phases from this time, and not from the first push. Has no effect after the first push.
    public mutating func begin(at now: Moment) {
        if start == nil { start = now }
    }

    /// The counts of all rules, in their order.
    public var counts: [Count] {
        rows.enumerated().map { index, row in
            Count(rule: index + 1, name: row.rule.name, considered: row.considered, matched: row.matched)
        }
    }

    /// The decision of the first rule that matches a push; nil if none does.
    public mutating func decide(_ push: PushFacts, at now: Moment) -> RuleDecision? {
        if let (since, row) = unregistered[push.token] {
            return RuleDecision(
                rule: row + 1, name: rows[row].rule.name, outcome: .answer(Self.unregistered(since)))
        }
        let start = start ?? now
        self.start = start
        let elapsed = now.milliseconds - start.milliseconds
        let payload =
            readsPayloads ? JSONValue.members(ofObject: push.payload.span).map(JSONValue.object) : nil
        for index in rows.indices where Self.holds(rows[index].rule.condition, for: push, payload) {
            guard rows[index].rule.phase?.contains(elapsed) ?? true, rows[index].takes(push, at: now) else {
                continue
            }
            return decision(of: index, push, at: now)
        }
        return nil
    }

    private mutating func decision(of index: Int, _ push: PushFacts, at now: Moment) -> RuleDecision {
        let effect = rows[index].rule.effect
        let delay = effect.delay?.draw(from: &rows[index].random, most: Limits.ruleMilliseconds) ?? 0
        var outcome = effect.outcome
        switch outcome {
        case .answer(var answer):
            if answer.status == 410, answer.timestamp == nil { answer.timestamp = now.milliseconds }
            if answer.retryAfter == .rest { answer.retryAfter = .seconds(secondsLeft(of: index, at: now)) }
            outcome = .answer(answer)
        case .unregister:
            unregister(push.token, by: index, at: now)
            outcome = .answer(Self.unregistered(now))
        case .pass, .lose, .reset, .close: break
        }
        return RuleDecision(
            rule: index + 1, name: rows[index].rule.name, outcome: outcome, delayMilliseconds: delay,
            goaway: effect.goaway, connection: effect.connection, device: effect.device)
    }

    /// Whole seconds until a rule or its phase ends, rounded up, so that a provider that waits for them returns after
    /// the end.
    private func secondsLeft(of index: Int, at now: Moment) -> Int {
        let (rule, firstMatch) = (rows[index].rule, rows[index].firstMatch)
        let ends = [
            rule.lastsMilliseconds.flatMap { lasts in firstMatch.map { $0.milliseconds + Int64(lasts) } },
            rule.phase?.to.flatMap { to in start.map { $0.milliseconds + Int64(to) } },
        ]
        let left = (ends.compactMap(\.self).min() ?? now.milliseconds) - now.milliseconds
        return Int((max(0, left) + 999) / 1000)
    }

    private mutating func unregister(_ token: String, by row: Int, at now: Moment) {
        if unregisteredInOrder.count >= Limits.unregisteredTokens {
            unregistered[unregisteredInOrder.removeFirst()] = nil
        }
        unregistered[token] = (now, row)
        unregisteredInOrder.append(token)
    }

    private static func unregistered(_ since: Moment) -> ScriptedAnswer {
        ScriptedAnswer(
            status: Rejection.unregistered.status, reason: Rejection.unregistered.rawValue,
            timestamp: since.milliseconds)
    }

    /// Whether a push fulfils the conditions that do not depend on earlier pushes.
    private static func holds(_ condition: RuleCondition, for push: PushFacts, _ payload: JSONValue?) -> Bool
    {
        if let token = condition.token, !token.matches(push.token) { return false }
        if let topic = condition.topic, !topic.matches(push.topic) { return false }
        if let type = condition.pushType, type != push.pushType { return false }
        if let connection = condition.connection, connection != push.connection { return false }
        for (name, value) in condition.headers {
            let sent = push.headers.first { $0.name == name }?.value
            guard let value, let sent else {
                if (value == nil) == (sent == nil) { continue }
                return false
            }
            guard value.matches(sent) else { return false }
        }
        guard !condition.payload.isEmpty else { return true }
        guard let payload else { return false }
        return condition.payload.allSatisfy { $0.matches(payload) }
    }
}

extension RuleBook.Row {
    /// Counts a push that fulfils the conditions, and returns whether the rule decides about it.
    fileprivate mutating func takes(_ push: PushFacts, at now: Moment) -> Bool {
        if let lasts = rule.lastsMilliseconds, let firstMatch,
            now >= firstMatch.advanced(byMilliseconds: Int64(lasts))
        {
            return false
        }
        considered += 1
        if let ordinals = rule.condition.ordinals, !ordinals.contains(number(of: push)) { return false }
        if let probability = rule.condition.probability,
            Double.random(in: 0..<1, using: &random) >= probability
        {
            return false
        }
        matched += 1
        if firstMatch == nil { firstMatch = now }
        return true
    }

    /// The number of the push among those of its token, connection or identity, or among all.
    private mutating func number(of push: PushFacts) -> Int {
        let scope: String
        switch rule.condition.scope {
        case nil: return considered
        case .token: scope = push.token
        case .connection: scope = String(push.connection)
        case .id: scope = push.identity.lowercased()
        }
        if scopes[scope] == nil, scopes.count >= Limits.ruleCounts { scopes = [:] }
        scopes[scope, default: 0] += 1
        return scopes[scope, default: 0]
    }
}
