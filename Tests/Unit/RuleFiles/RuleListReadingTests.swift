import PostriderNotifications
import PostriderRuleFiles
import PostriderRules
import PostriderYAML
import Testing

/// The meaning of rule files, and the messages about wrong ones.
@Suite("A file of rules")
struct RuleListReadingTests {
    private static let everything = """
        seed: 7
        rules:
          - name: throttled at first
            for: 30s
            match:
              token: 'AA*'
              topic: com.example.*
              pushType: alert
              header: {apns-priority: "10", apns-collapse-id: null}
              payload: {aps.alert.title: Tea, n.0: 1}
              connection: 2
              nth: 2-5
              per: token
              probability: 0.5
            do:
              status: 429
              reason: TooManyRequests
              retryAfter: rest
              delay: {from: 10ms, to: 1s}
              stall: 2s
              goaway: {when: after, code: ENHANCE_YOUR_CALM, reason: Shutdown}
        """

    @Test("says all that a rule can be")
    func whole() throws {
        let list = try RuleList.reading(Self.everything, file: "rules.yaml")
        var condition = RuleCondition()
        condition.token = TextPattern("aa*")
        condition.topic = TextPattern("com.example.*")
        condition.pushType = .alert
        condition.headers = [("apns-priority", TextPattern("10")), ("apns-collapse-id", nil)]
        condition.payload = [
            PayloadCondition(path: ["aps", "alert", "title"], value: TextPattern("Tea")),
            PayloadCondition(path: ["n", "0"], value: TextPattern("1")),
        ]
        condition.connection = 2
        condition.ordinals = .range(2...5)
        condition.scope = .token
        condition.probability = 0.5
        let answer = ScriptedAnswer(
            status: 429, reason: "TooManyRequests", retryAfter: .rest, stall: .milliseconds(2000))
        let effect = RuleEffect(
            .answer(answer), delay: .uniform(10...1000), goaway: Goaway(.after, code: 11, reason: "Shutdown"))
        let rule = PushRule(
            name: "throttled at first", condition: condition, lastsMilliseconds: 30_000, effect: effect)
        #expect(list == RuleList(seed: 7, rules: [rule]))
    }

    @Test("means the same as JSON, with characters that JSON writes as two escapes")
    func json() throws {
        let json = #"""
            {"rules":[{"name":"\ud83d\ude00 \\ud83d","match":{"nth":1,"payload":{"aps.badge":null}},\#
            "do":{"lose":true}}]}
            """#
        let yaml = """
            rules:
              - name: '😀 \\ud83d'
                match: {nth: "1", payload: {aps.badge: }}
                do: {lose: true}
            """
        let list = try RuleList.reading(json, file: "rules.json")
        #expect(list == (try RuleList.reading(yaml, file: "rules.yaml")))
        #expect(list.rules.first?.name == "😀 \\ud83d")
    }

    private static let effectCases: [(String, RuleEffect)] = [
        ("status: 410", RuleEffect(.answer(ScriptedAnswer(status: 410, reason: "Unregistered")))),
        ("status: 413", RuleEffect(.answer(ScriptedAnswer(status: 413, reason: "PayloadTooLarge")))),
        ("reason: BadTopic", RuleEffect(.answer(ScriptedAnswer(status: 400, reason: "BadTopic")))),
        (
            "{reason: ExpiredToken, timestamp: 5}",
            RuleEffect(.answer(ScriptedAnswer(status: 410, reason: "ExpiredToken", timestamp: 5)))
        ),
        (
            "{status: 418, customReason: Teapot}",
            RuleEffect(.answer(ScriptedAnswer(status: 418, reason: "Teapot")))
        ),
        (
            "{status: 503, retryAfter: 1500ms, stall: forever}",
            RuleEffect(
                .answer(
                    ScriptedAnswer(
                        status: 503, reason: "ServiceUnavailable", retryAfter: .seconds(2), stall: .forever)))
        ),
        ("lose: true", RuleEffect(.lose)),
        ("{unregister: true, lose: false}", RuleEffect(.unregister)),
        ("reset: REFUSED_STREAM", RuleEffect(.reset(7))),
        ("reset: 8", RuleEffect(.reset(8))),
        ("close: clean", RuleEffect(.close(notifies: true))),
        ("close: abrupt", RuleEffect(.close(notifies: false))),
        ("delay: 250ms", RuleEffect(delay: .fixed(250))),
        ("delay: {mean: 1s}", RuleEffect(delay: .exponential(mean: 1000))),
        ("delay: {mean: 1s, deviation: 100ms}", RuleEffect(delay: .normal(mean: 1000, deviation: 100))),
        ("goaway: before", RuleEffect(goaway: Goaway(.before))),
        ("{lose: true, goaway: after}", RuleEffect(.lose, goaway: Goaway(.after))),
    ]

    @Test("says what is done", arguments: effectCases.indices)
    func effects(_ index: Int) throws {
        let (text, effect) = Self.effectCases[index]
        let written = text.hasPrefix("{") ? text : "{\(text)}"
        let list = try RuleList.reading("rules: [{do: \(written)}]", file: "a")
        #expect(list.rules.map(\.effect) == [effect])
    }

    private static let ordinalCases: [(String, Ordinals)] = [
        ("3", .range(3...3)), ("2-5", .range(2...5)), ("4-", .from(4)), ("every 10", .every(10)),
    ]

    @Test("says which of many pushes are meant", arguments: ordinalCases.indices)
    func ordinals(_ index: Int) throws {
        let (text, ordinals) = Self.ordinalCases[index]
        let list = try RuleList.reading("rules: [{match: {nth: \(text)}, do: {lose: true}}]", file: "a")
        #expect(list.rules.map(\.condition.ordinals) == [ordinals])
    }

    /// A wrong `match` or `do`, and its message.
    private static let wrong: [(String, String)] = [
        ("match: {topc: a}", "'rules[0].match.topc' is not a setting; did you mean 'topic'?"),
        (
            "match: {token: xyz}",
            "'rules[0].match.token' can never match: a device token has hexadecimal digits"
        ),
        ("match: {token: abc}", "'rules[0].match.token' can never match: it has 3 digits"),
        ("match: {token: \(String(repeating: "ab", count: 101))}", "can never match: 200 digits is the most"),
        ("match: {topic: 'a b'}", "'rules[0].match.topic' can never match: a topic is a bundle identifier"),
        ("match: {pushType: allert}", "'rules[0].match.pushType' must be one of alert, background"),
        ("match: {header: {Apns-Id: a}}", "write 'apns-id'"),
        ("match: {header: {apns-topic: a}}", "has a place of its own; write 'topic'"),
        ("match: {header: {authorization: a}}", "is a secret"),
        ("match: {header: {apns-priority: '7'}}", "can never match: a priority is 1, 5 or 10"),
        ("match: {header: {'a b': a}}", "can never match: it is no name of a header field"),
        ("match: {payload: {aps..alert: a}}", "is no path"),
        ("match: {payload: {0.aps: a}}", "can never match: a payload is an object"),
        (
            "match: {payload: [a]}",
            "'rules[0].match.payload' must hold lines such as 'name: value', not a list"
        ),
        ("match: {nth: 0}", "'rules[0].match.nth' can never match: the first push has the number 1"),
        ("match: {nth: 5-2}", "can never match: 2 comes before 5; write '2-5'"),
        ("match: {nth: twice}", "must be a number such as 3, '2-5', '4-' or 'every 10', not 'twice'"),
        ("match: {per: token}", "'rules[0].match.per' counts for 'nth', which is missing"),
        ("match: {probability: 0}", "'rules[0].match.probability' can never match: it is 0"),
        ("match: {probability: 2}", "must be a number from 0 to 1, not '2'"),
        ("do: {status: 200}", "'rules[0].do.status' must be a whole number from 400 to 599, not '200'"),
        ("do: {status: 400}", "has several reasons; write 'reason', one of BadCollapseId"),
        ("do: {status: 418}", "has no reason of APNs; write one as 'customReason'"),
        ("do: {reason: BadTopik}", "is 'BadTopik', which APNs never says; did you mean 'BadTopic'?"),
        ("do: {status: 410, reason: BadTopic}", "is BadTopic, which goes with status 400, not 410"),
        ("do: {customReason: Teapot}", "needs a 'status' beside it"),
        ("do: {status: 400, reason: BadTopic, customReason: a}", "and 'reason' contradict each other"),
        ("do: {status: 400, customReason: 'a\"'}", "must be 1 to 64 letters and digits"),
        ("do: {status: 503, timestamp: 5}", "'rules[0].do.timestamp' belongs to status 410 only, not 503"),
        ("do: {timestamp: 5}", "belongs to an answer; write 'status' or 'reason' beside it"),
        ("do: {stall: 5s}", "belongs to an answer"),
        ("do: {status: 410, retryAfter: 5s}", "belongs to status 429 or 503, not 410"),
        ("do: {status: 429, retryAfter: rest}", "which has no end; write 'for: 30s'"),
        ("do: {lose: true, reset: CANCEL}", "'rules[0].do.reset' and 'lose' contradict each other"),
        ("do: {status: 503, lose: true}", "'rules[0].do.lose' and 'status' contradict each other"),
        ("do: {reset: REFUSE_STREAM}", "not 'REFUSE_STREAM'; did you mean REFUSED_STREAM?"),
        ("do: {close: hard}", "'rules[0].do.close' must be one of clean, abrupt, not 'hard'"),
        ("do: {close: clean, goaway: after}", "'rules[0].do.goaway' and 'close' contradict each other"),
        ("do: {reset: CANCEL, goaway: after}", "comes after an answer, and 'reset' gives none"),
        ("do: {goaway: {code: NO_ERROR}}", "'rules[0].do.goaway.when' is missing"),
        ("do: {delay: soon}", "'rules[0].do.delay' must be a length of time"),
        ("do: {delay: {from: 2s, to: 1s}}", "'rules[0].do.delay.to' is shorter than 'from'"),
        ("do: {delay: {from: 2s}}", "'rules[0].do.delay' has 'from' and 'to', or 'mean'"),
        ("do: {lose: false}", "'rules[0].do' does nothing"),
        ("for: 2d, do: {lose: true}", "'rules[0].for' must be from 1ms to 1h, not '2d'"),
    ]

    @Test("is refused with file, line and what to do", arguments: wrong.indices)
    func refusals(_ index: Int) {
        let (text, sentence) = Self.wrong[index]
        let rule = text.contains("do:") ? text : text + ", do: {lose: true}"
        let error = #expect(throws: YAMLError.self) {
            try RuleList.reading("rules:\n  - {\(rule)}\n", file: "rules.yaml")
        }
        let told = error?.description ?? ""
        #expect(told.hasPrefix("rules.yaml:2:") && told.contains(sentence), "\(told)")
    }

    private static let lists: [(String, String)] = [
        ("seed: 1", "a:1:1: 'rules' is missing"),
        ("rules: [{match: {nth: 1}}]", "a:1:9: 'rules[0].do' is missing"),
        (
            "rules:\n- do: {lose: true}\n- match: {nth: 1}\n  do: {lose: true}",
            "a:3:3: 'rules[1]' can never match: rule 1 above it takes every push"
        ),
        (
            "rules:\n- {name: b, match: {nth: 1}, do: {lose: true}}\n- {name: b, do: {lose: true}}",
            "a:3:10: 'rules[1].name' is that of rule 1, too"
        ),
    ]

    @Test("is refused where its rules do not fit together", arguments: lists.indices)
    func listRefusals(_ index: Int) {
        let (text, sentence) = Self.lists[index]
        let error = #expect(throws: YAMLError.self) { try RuleList.reading(text, file: "a") }
        #expect(error?.description.hasPrefix(sentence) == true, "\(error?.description ?? "")")
    }

    @Test("has a bound for its rules")
    func bound() {
        let rules = String(repeating: "- {match: {nth: 1}, do: {lose: true}}\n", count: Limits.rules + 1)
        let error = #expect(throws: YAMLError.self) { try RuleList.reading("rules:\n" + rules, file: "a") }
        #expect(error?.description.contains("\(Limits.rules) is the most") == true)
    }
}

/// Rules that apply one after the other.
@Suite("A file of rules with phases")
struct RulePhaseReadingTests {
    private static let file = """
        title: A bad day
        source: https://example.org
        phases:
          - {name: quiet, for: 10s}
          - for: 30s
            rules:
              - {name: a, do: {status: 503, retryAfter: rest}}
          - rules:
              - {match: {nth: 1}, do: {lose: true}}
              - do: {delay: 1s}
        """

    @Test("gives each rule the time of its phase, after the first push")
    func phases() throws {
        let list = try RuleList.reading(Self.file, file: "f")
        #expect(
            list.rules.map(\.phase) == [
                RulePhase(from: 10_000, to: 40_000), RulePhase(from: 40_000, to: nil),
                RulePhase(from: 40_000, to: nil),
            ])
    }

    @Test("may have a rule for every push in each phase, but no rule below it in the same one")
    func everything() throws {
        let each = "phases: [{for: 1s, rules: [{do: {lose: true}}]}, {rules: [{do: {lose: true}}]}]"
        #expect(try RuleList.reading(each, file: "f").rules.count == 2)
        let below = "phases: [{for: 1s, rules: [{do: {lose: true}}, {do: {delay: 1s}}]}]"
        let error = #expect(throws: YAMLError.self) { try RuleList.reading(below, file: "f") }
        #expect(error?.description.contains("can never match: rule 1 above it takes every push") == true)
    }

    @Test(
        "is refused where it contradicts itself",
        arguments: [
            (
                "phases: [{rules: []}, {for: 1s}]",
                "f:1:23: 'phases[1]' can never begin: the phase above it has no 'for' and does not end; "
                    + "give it one"
            ),
            (
                "rules: []\nphases: [{for: 1s}]",
                "f:1:8: 'rules' and 'phases' exclude each other: put each rule into a phase"
            ),
            ("phases: []", "f:1:9: 'phases' has 0 phases; 1 to 100 are possible"),
            (
                "phases: [{for: 2h}]",
                "f:1:16: 'phases[0].for' must be"
            ),
            ("phases: [{rule: []}]", "'phases[0].rule' is not a setting; did you mean 'rules'?"),
            (
                "rules: [{match: {token: 'a*'}, do: {status: 503}}, {match: {token: 'a*', nth: 2}, do: "
                    + "{lose: true}}]",
                "f:1:52: 'rules[1]' can never match: rule 1 above it takes all of its pushes"
            ),
            (
                "phases: [{rules: [{do: {status: 503, retryAfter: rest}}]}]",
                "is the rest of the rule's time, which has no end"
            ),
        ])
    func mistakes(_ text: String, _ sentence: String) {
        let error = #expect(throws: YAMLError.self) { try RuleList.reading(text, file: "f") }
        #expect(error?.description.contains(sentence) == true, "\(String(describing: error))")
    }
}
