import Testing

/// Shows of every rule about the pages that it finds its faults and nothing else.
@Suite("A rule about pages")
struct PageRuleTests {
    @Test("finds links to headings that are not there")
    func anchors() {
        let pages = [
            TextFile(
                path: "docs/a/one.md",
                text: "# One\n## The `first` part, too\n[a](#the-first-part-too) [b](#second)\n"),
            TextFile(
                path: "docs/b/two.md",
                text: "[a](../a/one.md#one)\n[b](../a/one.md#two) [c](https://x.y/#z) [d](../a/one.swift#l)\n"
            ),
        ]
        #expect(
            PageRules.anchors(pages).map(\.description) == [
                "docs/a/one.md:3: links to #second, and docs/a/one.md has no such heading",
                "docs/b/two.md:2: links to ../a/one.md#two, and docs/a/one.md has no such heading",
            ])
    }

    @Test(
        "finds a picture that is older than its source, one without a source, and a source without a picture")
    func pictures() {
        let text = "digraph {}\n"
        func picture(_ name: String, of source: String, _ hash: String) -> TextFile {
            TextFile(
                path: "docs/images/\(name).svg", text: "<!-- Made from \(source), \(hash). -->\n<svg/>\n")
        }
        let files = [
            TextFile(path: "docs/diagrams/a.dot", text: text),
            TextFile(path: "docs/diagrams/b.dot", text: text + "\n"),
            TextFile(path: "docs/diagrams/c.sequence", text: text),
            picture("a", of: "docs/diagrams/a.dot", PictureRules.hash(of: text)),
            picture("b", of: "docs/diagrams/b.dot", PictureRules.hash(of: text)),
            picture("d", of: "docs/diagrams/d.dot", PictureRules.hash(of: text)),
            TextFile(path: "docs/images/drawn-by-hand.svg", text: "<svg/>\n"),
        ]
        #expect(
            PictureRules.pictures(files).map(\.description) == [
                "docs/images/b.svg:1: was made from another docs/diagrams/b.dot: run make diagrams",
                "docs/images/d.svg:1: is made from a file that is not there",
                "docs/diagrams/c.sequence: has no picture: run make diagrams",
            ])
        // A test vector of the specification (draft-eastlake-fnv).
        #expect(PictureRules.hash(of: "foobar") == "85944171f73967e8")
    }

    @Test("finds exported types whose last word is no entry of the glossary and no term of the field")
    func vocabulary() {
        let glossary = TextFile(
            path: VocabularyRules.path,
            text:
                "**Dead letter.** A.\n\n**Accept, hold back.** B.\n"
                + "<!-- terms: begin -->\n| of | handler, tls |\n"
        )
        let code = """
            public struct AppLetter {}
            public final class DeadLetters {}
            @MainActor public enum ConnectionHandler {}
            public typealias RenewableTLS = Int
            public struct DeviceDidWake {}
            struct Lobby {}
            public protocol AppDesk {}
            public struct Accept { public struct Crate {} }
            """
        let file = TextFile(path: "Sources/PostriderRelay/A.swift", text: code)
        let findings = VocabularyRules.findings([glossary, file])
        #expect(findings.map(\.line) == [7])
        #expect(
            findings.first?.sentence == "declares AppDesk, and \(VocabularyRules.path) does not know 'desk'")
    }

    @Test("finds a dependency that is missing in the drawing of the modules, and one too many")
    func modules() {
        let manifest = #"library("A", ["B"]), library("B"), library("C", ["B"])"#
        let drawing = TextFile(
            path: "docs/diagrams/modules.dot", text: "    \"A\" -> \"B\"\n    \"B\" -> \"C\"\n")
        let findings = PictureRules.modules([drawing], ImportTable(manifest: manifest))
        #expect(
            findings.map(\.sentence) == [
                #"and Package.swift differ in "B" -> "C": run make diagrams"#,
                #"and Package.swift differ in "C" -> "B": run make diagrams"#,
            ])
    }

    @Test(
        "wants the program's version as the newest of the changelog",
        arguments: [("1.2.3", 0), ("1.2.4", 1), ("", 1)])
    func version(_ version: String, _ count: Int) {
        let files = [
            TextFile(
                path: "Sources/PostriderCommands/Program.swift",
                text: "    static let version = \"\(version)\"\n"),
            TextFile(
                path: "CHANGELOG.md", text: "## Unreleased\n## 1.2.3 - 2026-01-02\n## 1.2.4 - 2025-01-01\n"),
        ]
        #expect(PageRules.version(files).count == count)
    }
}
