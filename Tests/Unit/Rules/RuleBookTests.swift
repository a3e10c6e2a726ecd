import PostriderNotifications
import PostriderRules
import Testing

/// The decisions of rules about pushes, case by case.
@Suite("A book of rules")
struct RuleBookTests {
    private static func push(
        token: String = "aa01", topic: String = "com.example.app", type: PushType? = .alert,
        priority: String? = "10",
        payload: String = #"{"aps":{"alert":{"title":"Tea"},"badge":3},"n":[1,true]}"#,
        identity: String = "A", connection: Int = 1
    ) -> PushFacts {
        PushFacts(
            token: token, topic: topic, pushType: type,
            headers: priority.map { [(name: "apns-priority", value: $0)] } ?? [],
            payload: Array(payload.utf8), identity: identity, connection: connection)
    }

    private static func condition(_ change: (inout RuleCondition) -> Void) -> RuleCondition {
        var condition = RuleCondition()
        change(&condition)
        return condition
    }

    private static func at(_ path: String, _ value: String?) -> RuleCondition {
        condition {
            $0.payload = [
                PayloadCondition(
                    path: path.split(separator: ".").map(String.init), value: value.map(TextPattern.init))
            ]
        }
    }

    private static let conditionCases: [(String, RuleCondition, PushFacts, Bool)] = [
        ("no condition", RuleCondition(), push(), true),
        ("the token", condition { $0.token = TextPattern("aa01") }, push(), true),
        ("another token", condition { $0.token = TextPattern("aa02") }, push(), false),
        ("the token's beginning", condition { $0.token = TextPattern("aa*") }, push(), true),
        ("the token's end", condition { $0.token = TextPattern("*02") }, push(), false),
        ("a part of the topic", condition { $0.topic = TextPattern("com.*.app") }, push(), true),
        ("a part twice", condition { $0.topic = TextPattern("*e*e*e*") }, push(), false),
        ("the push type", condition { $0.pushType = .alert }, push(), true),
        ("a push type that is missing", condition { $0.pushType = .alert }, push(type: nil), false),
        ("the connection", condition { $0.connection = 2 }, push(connection: 2), true),
        ("another connection", condition { $0.connection = 2 }, push(connection: 3), false),
        ("a header", condition { $0.headers = [("apns-priority", TextPattern("1*"))] }, push(), true),
        ("another value", condition { $0.headers = [("apns-priority", TextPattern("5"))] }, push(), false),
        ("a header that is there", condition { $0.headers = [("apns-priority", nil)] }, push(), false),
        ("a missing header", condition { $0.headers = [("apns-priority", nil)] }, push(priority: nil), true),
        ("a member of the payload", at("aps.alert.title", "T*"), push(), true),
        ("another text", at("aps.alert.title", "Coffee"), push(), false),
        ("a number", at("aps.badge", "3"), push(), true),
        ("an element", at("n.1", "true"), push(), true),
        ("an element beyond the end", at("n.2", "*"), push(), false),
        ("an object that is there", at("aps.alert", "*"), push(), true),
        ("an object as a text", at("aps.alert", "Tea"), push(), false),
        ("a member that must be missing", at("aps.sound", nil), push(), true),
        ("a member that is there all the same", at("aps.badge", nil), push(), false),
        ("a payload that is no JSON", at("aps.badge", nil), push(payload: "{"), false),
    ]

    @Test("holds its conditions against a push", arguments: conditionCases.indices)
    func conditions(_ index: Int) {
        let (name, condition, push, matches) = Self.conditionCases[index]
        var book = RuleBook(
            RuleList(rules: [PushRule(condition: condition, effect: RuleEffect(.lose))]))
        let decision = book.decide(push, at: Moment(milliseconds: 0))
        #expect((decision?.outcome == .lose) == matches, "\(name)")
        #expect(book.counts.map(\.matched) == [matches ? 1 : 0], "\(name)")
    }

    private static let ordinalCases: [(Ordinals, RuleCondition.Scope?, [Int])] = [
        (.range(2...2), nil, [2]),
        (.range(2...3), nil, [2, 3]),
        (.from(5), nil, [5, 6, 7, 8]),
        (.every(3), nil, [3, 6]),
        (.range(1...1), .token, [1, 2]),
        (.range(2...2), .token, [3, 4]),
        (.range(1...1), .connection, [1, 5]),
        (.range(1...1), .id, [1, 2, 3, 4, 5, 6, 7, 8]),
    ]

    @Test(
        "counts pushes, all together or of each token, connection and apns-id",
        arguments: ordinalCases.indices)
    func ordinals(_ index: Int) {
        let (ordinals, scope, expected) = Self.ordinalCases[index]
        let condition = Self.condition {
            $0.ordinals = ordinals
            $0.scope = scope
        }
        var book = RuleBook(RuleList(rules: [PushRule(condition: condition, effect: RuleEffect(.lose))]))
        let matched = (1...8).filter { number in
            let push = Self.push(
                token: number.isMultiple(of: 2) ? "bb" : "aa", identity: "\(number)",
                connection: number < 5 ? 1 : 2)
            return book.decide(push, at: Moment(milliseconds: 0)) != nil
        }
        #expect(matched == expected)
        #expect(book.counts.map(\.considered) == [8])
    }

    @Test("asks the first rule that matches, and no rule behind it")
    func order() {
        var book = RuleBook(
            RuleList(rules: [
                PushRule(
                    name: "first", condition: Self.condition { $0.ordinals = .range(1...1) },
                    effect: RuleEffect(.lose)),
                PushRule(
                    name: "second", condition: Self.condition { $0.ordinals = .range(1...1) },
                    effect: RuleEffect(.reset(7))),
            ]))
        let rules = (0..<3).map { _ in book.decide(Self.push(), at: Moment(milliseconds: 0))?.name }
        #expect(rules == ["first", "second", nil])
        #expect(book.counts.map(\.considered) == [3, 2])
    }

    @Test("ends a rule when its time is over, and says until then how long that is")
    func time() {
        let answer = ScriptedAnswer(status: 429, reason: "TooManyRequests", retryAfter: .rest)
        var book = RuleBook(
            RuleList(rules: [PushRule(lastsMilliseconds: 2500, effect: RuleEffect(.answer(answer)))]))
        func retryAfter(_ milliseconds: Int64) -> ScriptedAnswer.RetryAfter? {
            guard
                case .answer(let answer) = book.decide(Self.push(), at: Moment(milliseconds: milliseconds))?
                    .outcome
            else { return nil }
            return answer.retryAfter
        }
        #expect(retryAfter(10_000) == .seconds(3))
        #expect(retryAfter(11_600) == .seconds(1))
        #expect(retryAfter(12_499) == .seconds(1))
        #expect(retryAfter(12_500) == nil)
        #expect(book.counts.map(\.considered) == [3] && book.counts.map(\.matched) == [3])
    }

    @Test("unregisters a token for all pushes from then on, with the moment of that")
    func unregistering() {
        var book = RuleBook(
            RuleList(rules: [
                PushRule(
                    condition: Self.condition { $0.ordinals = .range(2...2) }, effect: RuleEffect(.unregister)
                )
            ]))
        func timestamp(_ token: String, _ milliseconds: Int64) -> Int64? {
            let push = Self.push(token: token)
            guard
                case .answer(let answer) = book.decide(push, at: Moment(milliseconds: milliseconds))?.outcome
            else { return nil }
            #expect(answer.status == 410 && answer.reason == "Unregistered")
            return answer.timestamp
        }
        #expect(timestamp("aa", 1) == nil)
        #expect(timestamp("aa", 2) == 2)
        #expect(timestamp("aa", 3) == 2)
        #expect(timestamp("bb", 4) == nil)
        #expect(book.counts.map(\.matched) == [1])
    }

    @Test("dates a 410 that has no timestamp of its own")
    func dating() {
        let answer = ScriptedAnswer(status: 410, reason: "Unregistered")
        var book = RuleBook(RuleList(rules: [PushRule(effect: RuleEffect(.answer(answer)))]))
        guard case .answer(let dated) = book.decide(Self.push(), at: Moment(milliseconds: 77))?.outcome else {
            Issue.record("the rule did not answer")
            return
        }
        #expect(dated.timestamp == 77)
    }

    private static func drawn(seed: UInt64, _ delay: Delay) -> [Int?] {
        let condition = Self.condition { $0.probability = 0.5 }
        var book = RuleBook(
            RuleList(seed: seed, rules: [PushRule(condition: condition, effect: RuleEffect(delay: delay))]))
        return (0..<400).map { _ in book.decide(push(), at: Moment(milliseconds: 0))?.delayMilliseconds }
    }

    @Test("applies rules in their phase alone, which is counted from the first push, not from the start")
    func phases() {
        func rule(_ status: Int, _ from: Int, _ to: Int?) -> PushRule {
            PushRule(
                effect: RuleEffect(.answer(ScriptedAnswer(status: status, reason: "x"))),
                phase: RulePhase(from: from, to: to))
        }
        var book = RuleBook(
            RuleList(rules: [rule(501, 1000, 2000), rule(502, 2000, 3000), rule(503, 5000, nil)]))
        func status(_ milliseconds: Int64) -> Int? {
            let now = Moment(milliseconds: 1_000_000 + milliseconds)
            guard case .answer(let answer)? = book.decide(Self.push(), at: now)?.outcome else { return nil }
            return answer.status
        }
        #expect(status(0) == nil)
        #expect(status(999) == nil && status(1000) == 501 && status(1999) == 501)
        #expect(status(2000) == 502 && status(3000) == nil && status(4999) == nil)
        #expect(status(5000) == 503 && status(1_000_000_000) == 503)
        #expect(book.counts.map(\.matched) == [2, 1, 2])
    }

    @Test("answers with the seconds until the phase ends, or the rule if that comes first")
    func restOfPhase() {
        func retryAfter(lasts: Int?) -> [ScriptedAnswer.RetryAfter?] {
            let answer = ScriptedAnswer(status: 503, reason: "x", retryAfter: .rest)
            var book = RuleBook(
                RuleList(rules: [
                    PushRule(
                        lastsMilliseconds: lasts, effect: RuleEffect(.answer(answer)),
                        phase: RulePhase(from: 0, to: 10_000))
                ]))
            return [Int64(0), 1500, 9999].map { milliseconds in
                let decision = book.decide(Self.push(), at: Moment(milliseconds: milliseconds))
                guard case .answer(let answer)? = decision?.outcome else { return nil }
                return answer.retryAfter
            }
        }
        #expect(retryAfter(lasts: nil) == [.seconds(10), .seconds(9), .seconds(1)])
        #expect(retryAfter(lasts: 3000) == [.seconds(3), .seconds(2), nil])
        #expect(retryAfter(lasts: 60_000) == [.seconds(10), .seconds(9), .seconds(1)])
    }

    @Test(
        "draws the same with the same seed, and something else with another",
        arguments: [
            Delay.fixed(20), .uniform(10...50), .exponential(mean: 30), .normal(mean: 100, deviation: 20),
        ])
    func seeds(_ delay: Delay) {
        let some = Self.drawn(seed: 1, delay)
        #expect(some == Self.drawn(seed: 1, delay))
        #expect(some != Self.drawn(seed: 2, delay))
        // About half of them; a correct rule leaves this range once in a million times.
        #expect((150...250).contains(some.count { $0 != nil }))
    }

    @Test("draws delays that are spread as their distribution says")
    func distributions() {
        func mean(_ delay: Delay) -> Int {
            let drawn = Self.drawn(seed: 3, delay).compactMap { $0 }
            return drawn.reduce(0, +) / drawn.count
        }
        #expect(mean(.fixed(20)) == 20)
        #expect(
            Self.drawn(seed: 3, .uniform(10...50)).compactMap { $0 }.allSatisfy { (10...50).contains($0) })
        #expect((25...35).contains(mean(.uniform(10...50))))
        #expect((800...1200).contains(mean(.exponential(mean: 1000))))
        #expect((95...105).contains(mean(.normal(mean: 100, deviation: 20))))
        #expect(Self.drawn(seed: 3, .normal(mean: 0, deviation: 20)).compactMap { $0 }.allSatisfy { $0 >= 0 })
    }
}
