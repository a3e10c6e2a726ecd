import Testing

/// Shows of every rule about the pages that it fails where it should, and nowhere else.
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
        "wants the program's version as the newest of the changelog",
        arguments: [("1.2.3", 0), ("1.2.4", 1), ("", 1)])
    func version(_ version: String, _ count: Int) {
        let files = [
            TextFile(
                path: "Sources/postrider/Command.swift", text: "    static let version = \"\(version)\"\n"),
            TextFile(
                path: "CHANGELOG.md", text: "## Unreleased\n## 1.2.3 - 2026-01-02\n## 1.2.4 - 2025-01-01\n"),
        ]
        #expect(PageRules.version(files).count == count)
    }
}
