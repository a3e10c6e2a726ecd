import Foundation
import Synchronization
import Testing

/// A table of docs/reference/kit-parity.md, with a record of the lines that a test has proved.
final class ParityPage: Sendable {
    /// The first column of each line, and the second.
    private let lines: [(name: String, verdict: String)]
    private let shown = Mutex(Set<String>())
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..")

    init(section: String) {
        let page = Self.root.appending(path: "docs/reference/kit-parity.md")
        let text = (try? String(contentsOf: page, encoding: .utf8)) ?? ""
        let part = text.components(separatedBy: "\n## ").first { $0.hasPrefix(section + "\n") } ?? ""
        lines = part.split(separator: "\n").filter { $0.hasPrefix("| ") }.dropFirst().map { line in
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            return (cells[0], cells.count > 1 ? cells[1] : "")
        }
    }

    /// Expects that the code behaves as a line says, whose second column begins with *same* or *differs*.
    func check(_ name: String, _ isSo: Bool) {
        #expect(isSo, "\(name) is not as the page says")
        shown.withLock { _ = $0.insert(name) }
    }

    /// Expects that every line of the page was checked, and no other.
    func expectAllShown() {
        #expect(lines.count > 45)
        for line in lines {
            let words = ["same", "differs: ", "not here: "]
            #expect(words.contains { line.verdict.hasPrefix($0) }, "\(line.name): \(line.verdict)")
        }
        let present = Set(lines.filter { !$0.verdict.hasPrefix("not here") }.map(\.name))
        let shown = shown.withLock { $0 }
        #expect(present.subtracting(shown) == [], "the page says more than the sample shows")
        #expect(shown.subtracting(present) == [], "the sample shows more than the page says")
    }

    /// The names that the page lists as not here, without their prefixes.
    var absent: [String] {
        lines.filter { $0.verdict.hasPrefix("not here") }.flatMap { line in
            line.name.matches(of: #/`\.?(?:UN)?(\w+)[^`]*`/#).map { String($0.output.1) }
        }
    }

    /// Returns all source text of the kit.
    func kitSources() throws -> String {
        let folder = Self.root.appending(path: "Sources/PostriderKit")
        return try FileManager.default.subpathsOfDirectory(atPath: folder.path)
            .filter { $0.hasSuffix(".swift") }
            .map { try String(contentsOf: folder.appending(path: $0), encoding: .utf8) }.joined()
    }
}
