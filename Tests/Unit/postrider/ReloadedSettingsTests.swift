import Foundation
import Testing

@testable import PostriderCommands
@testable import postrider

@Suite("Settings at a reload")
struct ReloadedSettingsTests {
    @Test("that have changed, and that a reload applies, are told with what they were")
    func changes() throws {
        func texts(_ file: String) throws -> SettingTexts<Setting> {
            try SettingsTests.settings(["-c", "f"], files: ["f": file]).texts
        }
        let start = try texts("pushes-per-second: 10\nlog-level: debug\nshards: 3")
        let now = try texts("pushes-per-second: 20\nsource-rate: 5\nshards: 4")
        #expect(
            now.changes(since: start).map(\.sentence) == [
                "source-rate is 5 now (it was not set)", "pushes-per-second is 20 now (it was 10)",
                "log-level is not set now (it was debug)",
            ])
        #expect(now.changes(since: now).isEmpty)
    }

    @Test("are each applied by a reload or kept from the start, as the pages say")
    func reloads() throws {
        #expect(Setting.reloaded.isDisjoint(with: Setting.keptFromStart))
        #expect(Setting.reloaded.union(Setting.keptFromStart) == Set(Setting.allCases))
        let root = URL(filePath: #filePath).appending(path: "../../../..").standardized
        func page(_ name: String) throws -> [Substring] {
            try String(contentsOf: root.appending(path: "docs/operate/\(name)"), encoding: .utf8)
                .split(separator: "\n")
        }
        // `name` ↻ | …, or several names in one row.
        let rows = try page("configuration.md").filter { $0.hasPrefix("| `") }
        for setting in Setting.allCases {
            let heads = rows.map { $0.dropFirst().prefix { $0 != "|" } }
            let head = try #require(heads.first { $0.contains("`\(setting.rawValue)`") })
            #expect(head.contains("↻") == Setting.reloaded.contains(setting), "\(setting.rawValue)")
        }
        let kept = try page("certificates.md").filter { $0.contains(" | no: ") }
        for setting in Setting.allCases {
            let isKept = kept.contains { $0.contains("`\(setting.rawValue)`") }
            #expect(isKept == Setting.keptFromStart.contains(setting), "\(setting.rawValue)")
        }
    }
}
