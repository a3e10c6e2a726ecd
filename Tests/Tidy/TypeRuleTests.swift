import Testing

@Suite("The rules about types")
struct TypeRuleTests {
    private static func file(_ path: String, _ text: String) -> TextFile {
        TextFile(path: "Sources/PostriderRelay/\(path).swift", text: text)
    }

    private static let properties = """
        /// struct No { let a = 1 }
        public final class Large: Base<Other> {
            let one = 1, text = "let no = 1"
            private(set) lazy var two = Maker { $0 }
            static let none = 1
            var computed: Int { 1 }
            @Lock private unowned var three: Shard.Part
            struct Inner {
                let own: Int
            }
            func f() {
                let local = 1
            }
        }

        extension Large {
            var more: Int {
                let local = 2
                return local
            }
        }
        """

    @Test("count stored properties and lines over all files, without comments and nested types")
    func measures() throws {
        let table = TypeTable([
            Self.file("A/Large", Self.properties),
            Self.file("B/Large+More", "extension Large {\n    // Nothing.\n\n    func g() {}\n}\n"),
        ])
        let types = try #require(table.types["PostriderRelay"])
        #expect(types["Large"]?.storedProperties == 3)
        #expect(types["Large.Inner"]?.storedProperties == 1)
        // The line that declares a nested type counts for the outer type.
        #expect(types["Large"]?.lines == 17 + 3)
        #expect(
            types["Large"]?.mentioned == ["Large", "Base", "Other", "Maker", "Shard", "Int", "Lock", "Inner"])
        #expect(types["No"] == nil)
    }

    @Test("find a type that is too large, unless it is an exception, and an exception that is not")
    func sizes() {
        let body = (1...16).map { "    let p\($0) = 0\n" }.joined()
        let lines = String(repeating: "    f()\n", count: 200)
        let table = TypeTable([
            Self.file("A/Wide", "struct Wide {\n" + body + "}\n"),
            Self.file("A/Long", "struct Long {\n" + lines + "}\n"),
            Self.file("A/Long+More", "extension Long {\n" + lines + "}\n"),
            Self.file("A/Small", "struct Small {}\n"),
        ])
        func found(_ exceptions: [String: String]) -> [String] {
            TypeRules.sizes(table, exceptions: exceptions).map { String($0.description.prefix { $0 != "," }) }
        }
        #expect(found([:]).count == 2)
        #expect(found(["PostriderRelay.Wide": "x", "PostriderRelay.Long": "y"]) == [])
        let stale = found([
            "PostriderRelay.Wide": "x", "PostriderRelay.Long": "y", "PostriderRelay.Small": "z",
        ])
        #expect(
            stale == ["Tests/Tidy/TypeRules.swift: PostriderRelay.Small needs no place in the list any more"])
    }

    @Test("find a circle between folders, directly or by others, and none within one")
    func circles() {
        let table = TypeTable([
            Self.file("A/One", "struct One { let two: Two }\nstruct Three { let two: [Two] }\n"),
            Self.file("B/Two", "struct Two { var x: Four.Part? }\n"),
            Self.file("B/Four", "class Four {}\nextension Four { func f() { One.make() } }\n"),
            Self.file(
                "B/Five",
                "struct Five { let six: Six; func f() { x.One() } }\nstruct Six { var five: [Five] }\n"),
        ])
        let found = TypeRules.circles(in: "PostriderRelay", table).map(\.sentence)
        #expect(
            found == [
                "Four is in a circle with types of other folders: One",
                "One is in a circle with types of other folders: Four, Two",
                "Two is in a circle with types of other folders: One",
            ])
    }
}
