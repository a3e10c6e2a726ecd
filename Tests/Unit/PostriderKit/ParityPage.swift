import Foundation
import Testing

/// One line of docs/reference/kit-parity.md, with code that proves it.
struct ParityLine: Sendable, CustomTestStringConvertible {
    /// The first column: the feature of Apple's framework.
    let feature: String
    /// The second column: the kit's counterpart, as "same", "differs: …" or "not here: …".
    let verdict: String
    /// Returns true if the kit behaves as the line says, and Apple's framework too where Foundation on Linux has it.
    let isTrue: @Sendable () async throws -> Bool

    init(_ feature: String, _ verdict: String, _ isTrue: @escaping @Sendable () async throws -> Bool) {
        self.feature = feature
        self.verdict = verdict
        self.isTrue = isTrue
    }

    var testDescription: String { feature }
}

/// The page for people who port code; each of its sections has one table.
struct ParityPage {
    private let sections: [String: [[String]]]

    /// Reads the page of this repository.
    static func inRepository() throws -> ParityPage {
        let folder = URL(filePath: #filePath).appending(path: "../../../../docs/reference").standardized
        return ParityPage(try String(contentsOf: folder.appending(path: "kit-parity.md"), encoding: .utf8))
    }

    /// Creates a page from its text.
    init(_ text: String) {
        var sections: [String: [[String]]] = [:]
        var section = ""
        for line in text.split(separator: "\n") {
            if line.hasPrefix("## ") { section = String(line.dropFirst(3)) }
            guard line.hasPrefix("| ") else { continue }
            let cells = line.dropFirst(2).dropLast(2).components(separatedBy: " | ")
            sections[section, default: []].append(cells)
        }
        self.sections = sections.mapValues { Array($0.dropFirst()) }
    }

    /// Returns a sentence for each difference between a section's table and the lines of a sample.
    func disagreements(of section: String, with lines: [ParityLine]) -> [String] {
        let rows = sections[section] ?? []
        let expected = lines.map { [$0.feature, $0.verdict] }
        let missing = expected.filter { !rows.contains($0) }.map { "the page lacks: \($0)" }
        let unproved = rows.filter { !expected.contains($0) }.map { "no code shows: \($0)" }
        let verdicts = ["same", "differs: ", "not here: "]
        let unclear = lines.filter { line in !verdicts.contains { line.verdict.hasPrefix($0) } }
            .map { "neither same nor differs nor not here: \($0.verdict)" }
        let order = rows == expected ? [] : ["the order or the number of rows is another"]
        return missing + unproved + unclear + (missing.isEmpty && unproved.isEmpty ? order : [])
    }
}

@Suite("The page for people who port code")
struct ParityPageTests {
    private let lines = [ParityLine("`a`", "same") { true }, ParityLine("`b`", "differs: c") { true }]

    private func page(_ rows: [String]) -> ParityPage {
        ParityPage(
            "# A\n\n## One\n\n| Apple | kit |\n|---|---|\n" + rows.joined(separator: "\n")
                + "\n\n## Two\n\n| Apple | kit |\n|---|---|\n| `z` | same |\n")
    }

    @Test("agrees with a sample that has the same lines")
    func agreement() {
        #expect(page(["| `a` | same |", "| `b` | differs: c |"]).disagreements(of: "One", with: lines) == [])
    }

    @Test(
        "is found to disagree with a sample that has another line, fewer, more or another order",
        arguments: [
            ["| `a` | same |", "| `b` | same |"], ["| `a` | same |"], [],
            ["| `a` | same |", "| `b` | differs: c |", "| `d` | same |"],
            ["| `b` | differs: c |", "| `a` | same |"],
            ["| `a` | same |", "| `b` | differs: c |", "| `b` | differs: c |"],
        ])
    func disagreement(_ rows: [String]) {
        #expect(page(rows).disagreements(of: "One", with: lines) != [])
    }

    @Test("has a verdict in each line")
    func verdicts() {
        let line = ParityLine("`a`", "similar") { true }
        #expect(page(["| `a` | similar |"]).disagreements(of: "One", with: [line]).count == 1)
    }
}
