import Foundation
import PostriderNotifications
import PostriderRuleFiles
import PostriderRules
import Testing

/// The scenarios in deploy/scenarios, each run over two and a half minutes of pushes at made-up times.
@Suite("The library of scenarios")
struct ScenarioLibraryTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../deploy/scenarios").standardized

    /// What happens in each scenario: in a phase between two seconds after the start, each result occurs.
    private static let expected: [(file: String, from: Int, to: Int, results: Set<String>)] = [
        ("bad-device-tokens", 0, 150, ["", "BadDeviceToken"]),
        ("dropped-connections", 0, 150, ["", "closed"]),
        ("goaway-last-stream", 0, 150, ["", "goaway before, not processed"]),
        ("goaway-now-and-then", 0, 150, ["", "goaway before"]),
        ("goaway-under-load", 0, 150, ["", "goaway after"]),
        ("hanging-requests", 0, 150, ["", "delayed"]),
        ("invalid-provider-token", 0, 10, [""]),
        ("invalid-provider-token", 10, 70, ["InvalidProviderToken"]),
        ("invalid-provider-token", 70, 150, [""]),
        ("outage", 0, 10, [""]),
        ("outage", 10, 40, ["ServiceUnavailable"]),
        ("outage", 40, 70, ["TooManyRequests", "delayed"]),
        ("outage", 70, 150, [""]),
        ("provider-token-updates", 0, 10, [""]),
        ("provider-token-updates", 10, 70, ["TooManyProviderTokenUpdates"]),
        ("provider-token-updates", 70, 150, [""]),
        ("silence", 0, 10, [""]),
        ("silence", 10, 130, ["", "delayed"]),
        ("silence", 130, 150, [""]),
        ("sticky-500", 0, 1, [""]),
        ("sticky-500", 30, 150, ["InternalServerError"]),
        ("stream-limit", 0, 150, ["", "BadDeviceToken, maxConcurrentStreams 1"]),
    ]

    private static func read(_ name: String) throws -> (text: String, list: RuleList) {
        let text = try String(contentsOf: folder.appending(path: name), encoding: .utf8)
        return (text, try RuleList.reading(text, file: name))
    }

    @Test(
        "has ten scenarios or more, each with a title and a source, and none is left out here"
    )
    func sources() throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path).sorted()
        #expect(files.count >= 10)
        #expect(Set(files) == Set(Self.expected.map { $0.file + ".yaml" }))
        for file in files {
            let (text, list) = try Self.read(file)
            #expect(text.hasPrefix("title: ") && text.contains("\nsource: https://"), "\(file)")
            #expect(!list.rules.isEmpty, "\(file)")
        }
    }

    @Test("does in each phase what it tells, and every rule matches", arguments: Set(expected.map(\.file)))
    func results(_ file: String) throws {
        var book = RuleBook(try Self.read(file + ".yaml").list)
        let start = Moment(milliseconds: 1_800_000_000_000)
        book.begin(at: start)
        let phases = Self.expected.filter { $0.file == file }
        var found = phases.map { _ in Set<String>() }
        for index in 0..<15_000 {
            let milliseconds = index * 10
            // One connection and fifty tokens, as for a small service.
            let push = PushFacts(
                token: "aa\(index % 50)", topic: "com.example.app", pushType: .alert, headers: [],
                payload: [],
                identity: "\(index)", connection: 1)
            let decision = book.decide(push, at: start.advanced(byMilliseconds: Int64(milliseconds)))
            for (phase, range) in phases.enumerated()
            where (range.from * 1000..<range.to * 1000).contains(milliseconds) {
                if range.from == 0, range.to == 1, index >= 49 { continue }
                found[phase].insert(Self.name(decision))
            }
        }
        for (phase, results) in zip(phases, found) { #expect(results == phase.results, "\(phase)") }
        for count in book.counts { #expect(count.matched > 0, "\(file): rule \(count.rule)") }
    }

    private static func name(_ decision: RuleDecision?) -> String {
        guard let decision else { return "" }
        if let goaway = decision.goaway {
            return "goaway \(goaway.time.rawValue)"
                + (goaway.namedStream(for: 5) < 5 ? ", not processed" : "")
        }
        let settings = (decision.connection.settings?.values ?? [])
            .map { ", \($0.setting.rawValue) \($0.value)" }.joined()
        switch decision.outcome {
        case .answer(let answer): return answer.reason + settings
        case .close: return "closed"
        case .pass: return decision.delayMilliseconds > 0 ? "delayed" : ""
        case .lose, .reset, .unregister: return "other"
        }
    }
}
