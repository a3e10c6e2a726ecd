import Foundation
import Testing

/// Checks the repository against the project's rules. `RuleTests` shows that every rule can fail.
@Suite("The repository")
struct TidyTests {
    private static let found = Result { try Repository() }
    private let repository: Repository
    private var files: [TextFile] { repository.files }

    init() throws { repository = try Self.found.get() }

    @Test("is found, with its sources, tests and manifest")
    func presence() {
        #expect(files.count { $0.isSwift && $0.module != nil } > 20)
        #expect(files.contains { $0.path == "Package.swift" })
        #expect(files.contains { $0.path == "Tests/Tidy/TidyTests.swift" })
    }

    @Test("has Swift that keeps each rule", arguments: CodeRules.all.indices)
    func code(_ index: Int) {
        let (name, rule) = CodeRules.all[index]
        report(files.filter(\.isSwift).flatMap(rule), name)
    }

    @Test("has text that keeps each rule", arguments: TextRules.all.indices)
    func text(_ index: Int) {
        let (name, rule) = TextRules.all[index]
        report(files.flatMap(rule), name)
    }

    @Test("has documents that name and link to what is there")
    func documents() {
        let documents = files.filter(\.isMarkdown)
        report(documents.flatMap(DocumentRules.links(repository.paths)), "links")
        report(documents.flatMap(DocumentRules.mentions(repository.paths)), "mentions")
        report(documents.flatMap(DocumentRules.members(files)), "members")
        report(PageRules.anchors(files), "anchors")
        report(PageRules.version(files), "version")
        report(PictureRules.pictures(files), "pictures")
    }

    @Test("imports what Package.swift declares, and declares what the design allows")
    func imports() throws {
        let manifest = try #require(files.first { $0.path == "Package.swift" })
        let table = ImportTable(manifest: manifest.text)
        report(table.strangers(among: repository.paths, in: manifest), "targets")
        report(table.findings(in: manifest), "declarations")
        report(files.filter(\.isSwift).flatMap { table.findings(importedBy: $0) }, "imports")
        report(PictureRules.modules(files, table), "drawing")
    }

    @Test("names exported types by words of the glossary")
    func vocabulary() {
        report(VocabularyRules.findings(files), "words")
    }

    @Test("has types of a size, and in the relay no circles between those of different folders")
    func types() {
        let table = TypeTable(files)
        #expect(table.types["PostriderRelay"]?["Shard"]?.storedProperties ?? 0 > 5)
        report(TypeRules.sizes(table), "sizes")
        report(TypeRules.circles(in: "PostriderRelay", table), "circles")
    }

    @Test("has a test for each case from the field, by its number")
    func fieldCases() throws {
        let cases = try #require(FieldCases(files))
        #expect(cases.count > 40)
        report(cases.findings, "cases")
    }

    @Test("is formatted")
    func format() throws {
        let result = try lint(["--recursive", "Sources", "Tests", "Package.swift"])
        #expect(result.status == 0, "run make format:\n\(result.output)")
    }

    @Test("would not pass as formatted if it were not")
    func badFormat() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).swift")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data("let  a=1\n".utf8).write(to: file)
        #expect(try lint([file.path]).output.contains("[Spacing]"))
    }

    private func lint(_ arguments: [String]) throws -> (status: Int32, output: String) {
        let command = [
            "swift", "format", "lint", "--parallel", "--strict", "--configuration", ".swift-format",
        ]
        return try Repository.run(command + arguments, in: repository.root)
    }

    private func report(_ findings: [Finding], _ name: String) {
        let list = findings.map(\.description).joined(separator: "\n")
        #expect(findings.isEmpty, "\(name):\n\(list)")
    }
}
