import PostriderRuleFiles
import PostriderRules
import PostriderYAML
import Testing

/// The parts of a rule that are about a connection or a device, and the messages about wrong ones.
@Suite("A file of rules about connections and devices")
struct ConnectionEffectReadingTests {
    private static let effectCases: [(String, RuleEffect)] = [
        (
            "goaway: {when: before, lastStream: previous}",
            RuleEffect(goaway: Goaway(.before, lastStream: .previous))
        ),
        ("goaway: {when: after, lastStream: 5}", RuleEffect(goaway: Goaway(.after, lastStream: .number(5)))),
        (
            "settings: {maxConcurrentStreams: 1, headerTableSize: 0, for: 5s}",
            RuleEffect(
                connection: connection {
                    $0.settings = SettingsChange(
                        [
                            SettingsChange.Value(.maxConcurrentStreams, 1),
                            SettingsChange.Value(.headerTableSize, 0),
                        ], time: .milliseconds(5000))
                })
        ),
        ("window: 0", RuleEffect(connection: connection { $0.window = WindowLimit(bytes: 0) })),
        (
            "window: {bytes: 100, for: 2s}",
            RuleEffect(
                connection: connection { $0.window = WindowLimit(bytes: 100, time: .milliseconds(2000)) })
        ),
        ("stopReading: forever", RuleEffect(connection: connection { $0.stopsReading = .forever })),
        (
            "{stopReading: 3s, lose: true}",
            RuleEffect(.lose, connection: connection { $0.stopsReading = .milliseconds(3000) })
        ),
        (
            "{expiredCertificate: next, close: clean}",
            RuleEffect(.close(notifies: true), connection: connection { $0.expiredCertificates = 1 })
        ),
        ("expiredCertificate: 3", RuleEffect(connection: connection { $0.expiredCertificates = 3 })),
        ("device: {offline: 30s}", RuleEffect(device: .offline(30_000))),
        ("device: {slow: 2s}", RuleEffect(device: .slow(2000))),
        (
            "{device: {acknowledgesLate: 5s}, delay: 1s}",
            RuleEffect(
                delay: .fixed(1000), device: .acknowledgesLate(5000))
        ),
        ("device: {disconnects: true}", RuleEffect(device: .disconnects)),
    ]

    private static func connection(_ change: (inout ConnectionEffect) -> Void) -> ConnectionEffect {
        var effect = ConnectionEffect()
        change(&effect)
        return effect
    }

    @Test("says what is done", arguments: effectCases.indices)
    func effects(_ index: Int) throws {
        let (text, effect) = Self.effectCases[index]
        let written = text.hasPrefix("{") ? text : "{\(text)}"
        let list = try RuleList.reading("rules: [{do: \(written)}]", file: "a")
        #expect(list.rules.map(\.effect) == [effect])
    }

    /// A wrong `do`, and its message.
    private static let wrong: [(String, String)] = [
        (
            "do: {goaway: {when: after, lastStream: 4}}",
            "'rules[0].do.goaway.lastStream' must be previous, 0, or the odd number of a stream such as 5"
        ),
        (
            "do: {status: 503, goaway: {when: before, lastStream: 0}}",
            "a push above it gets nothing else; keep 'goaway' alone, or write 'when: after'"
        ),
        ("do: {settings: {for: 5s}}", "'rules[0].do.settings' changes nothing; write a value, such as"),
        (
            "do: {settings: {maxFrameSize: 100}}",
            "'rules[0].do.settings.maxFrameSize' must be a whole number from 16384 to 16777215, not '100'"
        ),
        ("do: {settings: {headerTableSize: 4097}}", "must be a whole number from 0 to 4096, not '4097'"),
        ("do: {settings: {maxStreams: 1}}", "'rules[0].do.settings.maxStreams' is not a setting"),
        ("do: {window: 70000}", "'rules[0].do.window' must be a whole number from 0 to 65535, not '70000'"),
        ("do: {window: {for: 5s}}", "'rules[0].do.window.bytes' is missing"),
        (
            "do: {window: 0, settings: {initialWindowSize: 5}}",
            "'rules[0].do.window' and 'settings.initialWindowSize' contradict each other; keep one of them"
        ),
        ("do: {stopReading: soon}", "'rules[0].do.stopReading' must be a length of time"),
        (
            "do: {stopReading: 5s, close: clean}",
            "'rules[0].do.stopReading' and 'close' contradict each other: no connection is left; keep one"
        ),
        (
            "do: {expiredCertificate: 0}",
            "'rules[0].do.expiredCertificate' must be a whole number from 1 to 1000, not '0'"
        ),
        ("do: {device: {}}", "'rules[0].do.device' does nothing; write one of offline, slow"),
        ("do: {device: {of_line: 5s}}", "'rules[0].do.device.of_line' is not a setting"),
        (
            "do: {device: {slow: 5s, offline: 5s}}",
            "'rules[0].do.device.slow' and 'offline' contradict each other; a rule does one of them, keep one"
        ),
        (
            "do: {lose: true, device: {slow: 5s}}",
            "'rules[0].do.device' is about a push that is delivered, and this rule ends it before"
        ),
    ]

    @Test("is refused with file, line and what to do", arguments: wrong.indices)
    func refusals(_ index: Int) {
        let (text, sentence) = Self.wrong[index]
        let error = #expect(throws: YAMLError.self) {
            try RuleList.reading("rules:\n  - {\(text)}\n", file: "rules.yaml")
        }
        let told = error?.description ?? ""
        #expect(told.hasPrefix("rules.yaml:2:") && told.contains(sentence), "\(told)")
    }
}
