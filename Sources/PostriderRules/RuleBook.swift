import PostriderJSON
public import PostriderNotifications
import PostriderSeededRandom

/// What rules look at in a push.
public struct PushFacts: Sendable {
    /// The device token, in lower case.
    public var token: String
    /// The topic.
    public var topic: String
    /// `apns-push-type`; nil: the provider sent none.
    public var pushType: PushType?
    /// The header fields in the order of the wire.
    public var headers: [(name: String, value: String)]
    /// The body.
    public var payload: [UInt8]
    /// The `apns-id`, as it is in the answer.
    public var identity: String
    /// The number of the provider's connection, from 1 on.
    public var connection: Int

    /// Facts from their parts.
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

/// What a rule says about one push.
public struct RuleDecision: Sendable, Equatable {
    /// The rule's number in its list, from 1 on.
    public var rule: Int
    /// The rule's name.
    public var name: String?
    /// What comes of the push. With ``RuleEffect/Outcome/unregister`` this is the answer that it gets.
    public var outcome: RuleEffect.Outcome
    /// Milliseconds before that.
    public var delayMilliseconds = 0
    /// A GOAWAY beside it.
    public var goaway: Goaway?
}

/// A list of rules at work: it decides about pushes in the order of their arrival, and counts.
public struct RuleBook: Sendable {
    /// How often a rule has matched.
    public struct Count: Sendable, Equatable {
        /// The rule's number in its list, from 1 on.
        public var rule: Int
        /// The rule's name.
        public var name: String?
        /// Pushes for which its conditions held, but for `nth`, `probability` and the time for which it holds.
        public var considered: Int
        /// Pushes that it decided about.
        public var matched: Int
    }

    fileprivate struct Row {
        let rule: PushRule
        var considered = 0
        var matched = 0
        var firstMatch: Moment?
        var random: SplitMix64
        /// How many each token, connection or identity has had.
        var scopes: [String: Int] = [:]
    }

    private var rows: [Row]
    /// Tokens that rules have unregistered: when, and by which rule.
    private var unregistered: [String: (since: Moment, row: Int)] = [:]
    private var unregisteredInOrder: [String] = []
    /// Whether any rule looks into payloads.
    private let readsPayloads: Bool

    /// The rules of a list, none of which has matched.
    public init(_ list: RuleList) {
        rows = list.rules.enumerated().map { index, rule in
            // Each draws from numbers of its own: a rule that is added behind does not change what the others draw.
            Row(rule: rule, random: SplitMix64(seed: list.seed ^ UInt64(index + 1) &* 0xD1B5_4A32_D192_ED03))
        }
        readsPayloads = list.rules.contains { !$0.condition.payload.isEmpty }
    }

    /// How often each rule has matched, in their order.
    public var counts: [Count] {
        rows.enumerated().map { index, row in
            Count(rule: index + 1, name: row.rule.name, considered: row.considered, matched: row.matched)
        }
    }

    /// What the first rule that matches says about a push; nil: none does.
    public mutating func decide(_ push: PushFacts, at now: Moment) -> RuleDecision? {
        if let (since, row) = unregistered[push.token] {
            return RuleDecision(
                rule: row + 1, name: rows[row].rule.name, outcome: .answer(Self.unregistered(since)))
        }
        let payload =
            readsPayloads ? JSONValue.members(ofObject: push.payload.span).map(JSONValue.object) : nil
        for index in rows.indices where Self.holds(rows[index].rule.condition, for: push, payload) {
            guard rows[index].takes(push, at: now) else { continue }
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
            if answer.retryAfter == .rest { answer.retryAfter = .seconds(rows[index].secondsLeft(at: now)) }
            outcome = .answer(answer)
        case .unregister:
            unregister(push.token, by: index, at: now)
            outcome = .answer(Self.unregistered(now))
        case .pass, .lose, .reset, .close: break
        }
        return RuleDecision(
            rule: index + 1, name: rows[index].rule.name, outcome: outcome, delayMilliseconds: delay,
            goaway: effect.goaway)
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

    /// Whether all holds for a push that does not depend on those before it.
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
    /// Counts a push for which the conditions hold: whether it is one that the rule decides about.
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

    /// Which push of its token, connection, identity or of all this is.
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

    /// Whole seconds until the rule no longer holds, rounded up: whoever waits for them comes when it is over.
    fileprivate func secondsLeft(at now: Moment) -> Int {
        guard let lasts = rule.lastsMilliseconds, let firstMatch else { return 0 }
        let left = firstMatch.milliseconds + Int64(lasts) - now.milliseconds
        return Int((max(0, left) + 999) / 1000)
    }
}
