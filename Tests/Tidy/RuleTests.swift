import Testing

/// Shows of every rule that it finds its faults and nothing else.
@Suite("A rule")
struct RuleTests {
    private static func function(lines: Int) -> String {
        "func f() {\n" + String(repeating: "    g()\n", count: lines - 2) + "}\n"
    }

    private static let bad: [(rule: Rule, path: String, text: String, lines: [Int?])] = [
        (CodeRules.legibility, "Sources/PostriderRelay/A.swift", "let a = 1\nlet b = \"x\n", [2]),
        (CodeRules.legibility, "Sources/PostriderRelay/A.swift", "/* /* */\n", [2]),
        (CodeRules.fileLength, "Sources/PostriderRelay/A.swift", String(repeating: "\n", count: 301), [nil]),
        (CodeRules.lineLength, "Sources/PostriderRelay/A.swift", String(repeating: "x", count: 111), [1]),
        (
            CodeRules.lineLength, "Sources/PostriderRelay/A.swift", "//" + String(repeating: "x", count: 119),
            [1]
        ),
        (CodeRules.functionLength, "Sources/PostriderRelay/A.swift", function(lines: 71), [1]),
        (
            CodeRules.functionLength, "Sources/PostriderRelay/A.swift",
            "init(\n    _ a: () -> Void = {}\n)\nwhere A: B {\n" + String(repeating: "\n", count: 66) + "}\n",
            [1]
        ),
        (CodeRules.courage, "Tests/Unit/Relay/A.swift", "try! f()\n_ = a as! B\nfatalError()\n", [1, 2, 3]),
        (CodeRules.courage, "Sources/PostriderRelay/A.swift", #"let a = "\(b as! C)""#, [1]),
        (
            CodeRules.pointers, "Sources/PostriderRelay/A.swift", "unsafe f()\nlet p: UnsafeRawPointer\n",
            [1, 2]
        ),
        (CodeRules.pointers, "Tests/EndToEnd/A.swift", "unowned(unsafe) let a: B\n", [1]),
        (
            CodeRules.sendability, "Sources/PostriderCrypto/A.swift",
            "final class A: @unchecked Sendable {}\n", [1]
        ),
        (CodeRules.sendability, "Sources/PostriderCrypto/A.swift", "nonisolated(unsafe) var a = 1\n", [1]),
        (CodeRules.sendability, "Sources/PostriderCrypto/Keys/Key.swift", "let a = 1\n", [nil]),
        (CodeRules.children, "Tests/Unit/A.swift", "_ = Process()\n_ = file.availableData\n", [1, 2]),
        (CodeRules.names, "Sources/PostriderRelay/StringUtils.swift", "\n", [nil]),
        (
            CodeRules.names, "Sources/PostriderRelay/A.swift",
            "final class DeviceManager {}\nenum Helpers {}\n",
            [1, 2]
        ),
        (TextRules.promises, "Makefile", "# TO" + "DO: later\n", [1]),
        (TextRules.promises, "Sources/PostriderRelay/A.swift", "// FIX" + "ME\n", [1]),
        (TextRules.machinePaths, "docs/a.md", "see /wo" + "rk/x\n`/ro" + "ot`\n", [1, 2]),
        (DocumentRules.links(["docs/b.md"]), "docs/a.md", "[b](b.md) [c](c.md)\n[d](../docs/b.md#x)", [1]),
        (DocumentRules.links(["docs/b.md"]), "README.md", "[b](docs/b.md)\n[b](b.md)\n[c](docs)\n", [2]),
        (
            DocumentRules.mentions(["Sources/A/B.swift"]), "README.md",
            "`Sources/A/B.swift`\n`Sources/A/C.swift`\n", [2]
        ),
        (
            DocumentRules.mentions(["Sources/A/B.swift"]), "README.md",
            "`A/B.swift` `B.swift` `Sources/A/`\n`C.swift`", [2]
        ),
        (
            DocumentRules.mentions(["Tests/A/BTests.swift", "Tests/a.py"]), "README.md",
            "`BTests` `a.py`\n`CTests`\n`b.py`\n", [2, 3]
        ),
        (DocumentRules.members(declarations), "docs/a.md", "`Limits.letters`\n`Limits.words`\n", [2]),
        (DocumentRules.members(declarations), "docs/a.md", "`Bounds.letters`\n`Limits.comment`\n", [1, 2]),
        (DocumentRules.members(declarations), "docs/a.md", "`Call.name`\n`Call.letters`\n", [2]),
    ]

    private static let declarations = [
        TextFile(
            path: "Sources/A/Limits.swift",
            text: "enum Limits {\n    case one, two\n    static let letters = 1 // let comment\n}\n"),
        TextFile(
            path: "Sources/B/Limits+B.swift", text: "extension Limits {\n    func most(_ a: Int) {}\n}\n"),
        TextFile(path: "docs/a.proto", text: "message Call {\n  string name = 1;\n}\n"),
    ]

    @Test("finds what is wrong, in its line", arguments: bad.indices)
    func finds(_ index: Int) {
        let example = Self.bad[index]
        let findings = example.rule(TextFile(path: example.path, text: example.text))
        #expect(findings.map(\.line) == example.lines, "\(findings)")
    }

    private static let good: [(rule: Rule, path: String, text: String)] = [
        (
            CodeRules.legibility, "Sources/PostriderRelay/A.swift",
            "let a = #\"\"\"\n  \" \\ \\#(b(\")\")) \"\"\n  \"\"\"#\n/* /* */ */\n"
        ),
        (CodeRules.fileLength, "Sources/PostriderRelay/A.swift", String(repeating: "\n", count: 300)),
        (CodeRules.lineLength, "Sources/PostriderRelay/A.swift", String(repeating: "é", count: 110)),
        (
            CodeRules.functionLength, "Sources/PostriderRelay/A.swift",
            "protocol P {\n    func f()\n}\n" + function(lines: 70)
        ),
        (
            CodeRules.courage, "Sources/PostriderRelay/A.swift",
            "// try! f()\nlet a = \"as! B\" // as!\ntry f()\n"
        ),
        (CodeRules.pointers, "Sources/PostriderCrypto/A.swift", "unsafe f()\n"),
        (CodeRules.pointers, "Tests/Unit/Crypto/A.swift", "unsafe f()\n"),
        (CodeRules.pointers, "Sources/PostriderRelay/A.swift", "/// It is unsafe.\nlet a = \"unsafe\"\n"),
        (CodeRules.sendability, "Sources/PostriderCrypto/Keys/Key.swift", "nonisolated(unsafe) let a = b\n"),
        (
            CodeRules.names, "Sources/PostriderRelay/Implementation.swift",
            "struct Implicit {}\nlet utility = 1\n"
        ),
        (
            TextRules.machinePaths, "docs/a.md",
            "Frameworks/wo" + "rk/x, /wo" + "rker, $HOME/ro" + "ot/, http://a/ro" + "ot/\n"
        ),
        (DocumentRules.links([]), "docs/a.md", "[a](https://b.c/d) [e](#f)\n```\n[g](h)\n```\n"),
        (DocumentRules.mentions([]), "docs/a.md", "`apns-id` `relay.yaml` `a/b` `Sources/*.swift`\n"),
        (
            DocumentRules.members(declarations), "docs/a.md",
            "`Limits.two` `Limits.most(3)` `Limits.swift` `Limits` `apns.id` `A.b c`\n```\n`A.b`\n```\n"
        ),
    ]

    @Test("lets pass what is right", arguments: good.indices)
    func passes(_ index: Int) {
        let example = Self.good[index]
        let findings = example.rule(TextFile(path: example.path, text: example.text))
        #expect(findings.isEmpty, "\(findings)")
    }
}

@Suite("The import table")
struct ImportTableTests {
    private static let manifest = """
        let package = Package(
            products: [.executable(name: "postrider", targets: ["postrider"])],
            targets: [
                .systemLibrary(name: "CPostriderCrypto"),  // "PostriderRelay"
                .systemLibrary(name: "CPostriderSQLite"),
                library("PostriderNotifications"),
                library("PostriderCrypto", ["CPostriderCrypto"]),
                library("PostriderStorage", ["CPostriderSQLite", "CPostriderCrypto"]),
                library("PostriderRelay", ["PostriderNotifications", "PostriderStorage"]),
                library("PostriderAgent", ["PostriderRelay"]),
                library("PostriderChannels", ["PostriderNotifications", "PostriderRelay"]),
                .executableTarget(
                    name: "postrider",
                    dependencies: [
                        "PostriderRelay", "PostriderAgent",
                    ]
                ),
                tests("RelayTests", "Unit/Relay", ["PostriderRelay", "CPostriderCrypto"]),
            ]
        )
        """
    private let table = ImportTable(manifest: manifest)
    private let file = TextFile(path: "Package.swift", text: manifest)

    @Test("is read from the manifest")
    func reading() {
        #expect(table.dependencies["postrider"] == ["PostriderRelay", "PostriderAgent"])
        #expect(table.dependencies["PostriderNotifications"] == [])
        #expect(table.dependencies["RelayTests"] == ["PostriderRelay", "CPostriderCrypto"])
        #expect(table.dependencies.count == 10)
    }

    @Test("finds a server that knows an engine or is known to a library, a shared C module, rules with I/O")
    func declarations() {
        let sentences = Set(table.findings(in: file).map(\.sentence))
        #expect(
            sentences == [
                "Relay may not depend on PostriderStorage", "PostriderAgent may not depend on Relay",
                "PostriderChannels may not depend on Relay",
                "PostriderChannels does no I/O, and may not depend on PostriderStorage",
                "CPostriderCrypto must have one owner, not [\"PostriderCrypto\", \"PostriderStorage\"]",
            ]
        )
    }

    @Test("finds a folder without target and a target without folder")
    func strangers() {
        let known = table.dependencies.keys.filter { !$0.hasSuffix("Tests") && $0 != "PostriderAgent" }
        let paths = known.map { "Sources/\($0)/A.swift" } + ["Sources/PostriderLoad/A.swift"]
        #expect(
            table.strangers(among: paths, in: file).map { $0.sentence.split(separator: " ").first } == [
                "PostriderAgent", "PostriderLoad",
            ])
    }

    @Test(
        "finds an import that is not declared, however it is written",
        arguments: [
            ("PostriderNotifications", "import PostriderCrypto", 1),
            ("PostriderNotifications", "public import CPostriderCrypto", 1),
            ("PostriderNotifications", "@testable import class PostriderCrypto.TLSContext", 1),
            ("PostriderNotifications", "import Foundation", 1),
            ("PostriderNotifications", "@preconcurrency internal import struct Foundation.URL", 1),
            ("PostriderNotifications", "import FoundationEssentials", 0),
            ("PostriderNotifications", "import Glibc", 0),
            ("PostriderAgent", "import Foundation", 1),
            ("PostriderCrypto", "internal import CPostriderCrypto", 0),
            ("PostriderNotifications", "// import PostriderCrypto", 0),
        ]
    )
    func imports(_ module: String, _ line: String, _ count: Int) {
        let file = TextFile(path: "Sources/\(module)/A.swift", text: line)
        #expect(table.findings(importedBy: file).count == count)
    }

    @Test("about cases from the field wants each on the page and in a test")
    func fieldCases() throws {
        let page = TextFile(path: FieldCases.path, text: "| R1 | a |\n| R2 | b |\n| R1 | c |\n")
        let test = TextFile(
            path: "Tests/Unit/A.swift",
            text: #"@Test("a", .bug(id: "R1"))"# + "\n" + #"@Test("b", .bug(id: "K9"))"#)
        let cases = try #require(FieldCases([page, test]))
        #expect(
            cases.findings.map(\.description) == [
                "docs/internals/field-cases.md:2: has the case R2, which no test names",
                "docs/internals/field-cases.md:3: has the case R1 twice",
                "Tests/Unit/A.swift: names the case K9, which is not in docs/internals/field-cases.md",
            ])
        #expect(FieldCases([test]) == nil)
    }
}
