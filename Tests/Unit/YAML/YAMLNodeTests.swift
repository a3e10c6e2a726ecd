import PostriderYAML
import Testing

@Suite("A YAML text")
struct YAMLNodeTests {
    private func parse(_ text: String) throws(YAMLError) -> YAMLNode {
        try .parse(text: text, file: "x.yaml")
    }

    @Test("becomes a tree whose nodes know their places")
    func tree() throws {
        let root = try parse("a: 1\nb:\n  - two\n  - {c: \"null\", d: }\n")
        guard case .mapping(let entries, Mark(line: 1, column: 1)) = root else {
            Issue.record("\(root)")
            return
        }
        #expect(entries.map(\.key) == ["a", "b"])
        #expect(entries[0].value == .scalar("1", Mark(line: 1, column: 4)))
        #expect(entries[1].keyMark == Mark(line: 2, column: 1))
        guard case .sequence(let items, _) = entries[1].value, case .mapping(let inner, _) = items[1] else {
            Issue.record("\(entries[1].value)")
            return
        }
        #expect(items[0] == .scalar("two", Mark(line: 3, column: 5)))
        #expect(
            inner.map(\.value) == [
                .scalar("null", Mark(line: 4, column: 9)), .null(Mark(line: 4, column: 20)),
            ])
    }

    @Test(
        "is null where it holds nothing",
        arguments: ["", "\n", "# a remark\n", "---\n", "--- ~\n", "null", "%YAML 1.1\n---\n"])
    func nothing(_ text: String) throws {
        guard case .null = try parse(text) else {
            Issue.record("\(text) is not null")
            return
        }
    }

    @Test("keeps every character of its scalars")
    func characters() throws {
        let root = try parse(
            "- 'it''s'\n- \"a\\u00e9\\0b\"\n- |\n  one\n  two\n- >-\n  three\n  four\n- grün 🎉\n")
        guard case .sequence(let items, _) = root else {
            Issue.record("\(root)")
            return
        }
        let texts = items.map { item in
            if case .scalar(let text, _) = item { text } else { "" }
        }
        #expect(texts == ["it's", "aé\0b", "one\ntwo\n", "three four", "grün 🎉"])
    }

    @Test(
        "with a mistake gets one sentence with its place",
        arguments: [
            ("a: &x 1", "1:4: anchors (&name) are not understood; write the value where it is needed"),
            ("&x a: 1", "1:1: anchors (&name) are not understood; write the value where it is needed"),
            ("a: &x [1]", "1:4: anchors (&name) are not understood; write the value where it is needed"),
            ("a: *x", "1:4: aliases (*name) are not understood; write the value out"),
            ("a: !!str 1", "1:4: tags (!name) are not understood; leave the tag away"),
            ("a: !x {b: 1}", "1:4: tags (!name) are not understood; leave the tag away"),
            ("a: 1\n---\nb: 2", "2:1: a second document begins here; keep one to a file"),
            ("a: 1\nb: 2\na: 3", "3:1: 'a' is already given in line 1; keep one of them"),
            ("[a]: 1", "1:1: a key must be text; write 'key: value'"),
            ("{a: 1}: 1", "1:1: a key must be text; write 'key: value'"),
            (": 1", "1:1: this is not YAML: did not find expected key while parsing a block mapping"),
            ("? ''\n: 1", "1:3: a key must be text; write 'key: value'"),
            ("a: b: c", "1:5: this is not YAML: mapping values are not allowed in this context"),
            (
                "a:\n\tb: 1",
                "2:1: this is not YAML: found character that cannot start any token while scanning for the "
                    + "next token; indent with spaces, not tabs"
            ),
            (
                "a: [1, 2",
                "2:1: this is not YAML: did not find expected ',' or ']' while parsing a flow sequence"
            ),
            (
                "a: [::]:2197",
                "1:5: this is not YAML: did not find expected node content while parsing a flow node; "
                    + "a value that begins with '[' stands in quotes"
            ),
            (
                "a: [::1]:2197",
                "1:5: this is not YAML: did not find expected node content while parsing a flow node; "
                    + "a value that begins with '[' stands in quotes"
            ),
            ("a: 1\nb: \u{1}", "2:4: this is not YAML: control characters are not allowed"),
        ]
    )
    func mistakes(_ text: String, _ sentence: String) {
        let error = #expect(throws: YAMLError.self) { try parse(text) }
        #expect(error?.description == "x.yaml:\(sentence)")
    }

    @Test("that is nested too deep or too long is refused")
    func bounds() {
        let deepest = YAMLNode.maximumDepth
        #expect(throws: Never.self) { try parse(nest(deepest)) }
        #expect(
            throws: YAMLError(
                file: "x.yaml", at: Mark(line: 1, column: 33),
                "this is nested deeper than 32 levels; make it flatter")
        ) {
            try parse(nest(deepest + 1))
        }
        #expect(
            throws: YAMLError(file: "x.yaml", at: nil, "it is longer than 1048576 bytes; make it shorter")
        ) {
            try parse(String(repeating: "#", count: YAMLNode.maximumBytes + 1))
        }
    }

    private func nest(_ depth: Int) -> String {
        String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }

    @Test("that is cut anywhere or has any one byte changed is read or refused, never more")
    func damage() {
        let text = "a: 1\nb:\n  - two\n  - {c: \"d\\n\", e: 'f'}\ng: |\n  h\n? i\n: j\n"
        for end in text.indices { _ = try? parse(String(text[..<end])) }
        for index in text.indices {
            for character in "\0\t\n:-?*&!|>'\"[]{},%@`#é" {
                var changed = text
                changed.replaceSubrange(index...index, with: [character])
                _ = try? parse(changed)
            }
        }
    }
}
