import Foundation

/// Compares the page of cases from the field with the tests: for every case on the page there is a test that names
/// its number with `.bug(id:)`, and every number that a test names is on the page.
struct FieldCases {
    static let path = "docs/internals/field-cases.md"

    private let page: TextFile
    /// Each case with its line.
    private let cases: [(number: String, line: Int)]
    /// The numbers that tests name, each with the file of one of these tests.
    private let tested: [String: TextFile]

    /// Nil if there is no page.
    init?(_ files: [TextFile]) {
        guard let page = files.first(where: { $0.path == Self.path }) else { return nil }
        self.page = page
        cases = zip(1..., page.lines).flatMap { line, text in
            captures(of: #"^\| ([RAK]\d+) \|"#, in: text[...]).map { (String($0), line) }
        }
        var tested: [String: TextFile] = [:]
        for file in files where file.isSwift && file.path.hasPrefix("Tests/") && file.path != Self.ownPath {
            for number in captures(of: #"\.bug\(id: "([RAK]\d+)"\)"#, in: file.text[...]) {
                tested[String(number)] = file
            }
        }
        self.tested = tested
    }

    /// The tests of these rules, which name numbers that do not exist.
    private static let ownPath = "Tests/Tidy/RuleTests.swift"

    /// The number of cases on the page.
    var count: Int { cases.count }

    /// The numbers that are on one side only, or twice on the page.
    var findings: [Finding] {
        var seen: Set<String> = []
        var findings: [Finding] = []
        for (number, line) in cases {
            if !seen.insert(number).inserted {
                findings.append(Finding(page, line: line, "has the case \(number) twice"))
            }
            if tested[number] == nil {
                findings.append(Finding(page, line: line, "has the case \(number), which no test names"))
            }
        }
        for (number, file) in tested.sorted(by: { $0.key < $1.key }) where !seen.contains(number) {
            findings.append(Finding(file, "names the case \(number), which is not in \(Self.path)"))
        }
        return findings
    }
}
