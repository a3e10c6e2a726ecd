import PostriderYAML
import Testing

private enum Color: String, CaseIterable { case red, green }

private func reader(_ text: String) throws(YAMLError) -> YAMLReader {
    try .reading(text: text, file: "x.yaml")
}

@Suite("A configuration")
struct YAMLReaderTests {
    @Test("gives each setting in its type")
    func types() throws {
        let root = try reader(
            """
            name: relay one
            port: 2197
            loud: true
            color: green
            wait: 250ms
            room: 64 KiB
            hosts: [a, "b"]
            provider:
              port: 443
            teams:
              - {id: A}
              - {id: B}
            """
        )
        #expect(try root.string("name") == "relay one")
        #expect(try root.integer("port", in: 1...65_535) == 2197)
        #expect(try root.boolean("loud") == true)
        #expect(try root.choice("color", of: Color.self) == .green)
        #expect(try root.milliseconds("wait", in: 0...1000) == 250)
        #expect(try root.bytes("room", in: 0...100_000) == 65_536)
        #expect(try root.strings("hosts") == ["a", "b"])
        #expect(try root.mapping("provider")?.integer("port", in: 1...1000) == 443)
        #expect(try root.mappings("teams")?.map { try $0.required("id", $0.string) } == ["A", "B"])
        try root.finish()
    }

    @Test("has nil for what is not there, and nothing in groups and lists that are empty")
    func absent() throws {
        let root = try reader("group:\nlist:\ngroups:\n")
        #expect(try root.string("name") == nil)
        #expect(try root.integer("port", in: 1...2) == nil)
        #expect(try root.boolean("loud") == nil)
        #expect(try root.milliseconds("wait", in: 0...1) == nil)
        #expect(try root.strings("hosts") == nil)
        #expect(try root.mapping("provider") == nil)
        #expect(try root.mapping("group")?.string("name") == nil)
        #expect(try root.strings("list") == [])
        #expect(try root.mappings("groups")?.isEmpty == true)
        try root.finish()
        try reader("").finish()
    }

    @Test(
        "knows lengths of time",
        arguments: [
            ("0s", 0), ("5ms", 5), ("10s", 10_000), ("5 m", 300_000), ("2h", 7_200_000),
            ("30d", 2_592_000_000),
        ]
    )
    func durations(_ text: String, _ milliseconds: Int) throws {
        #expect(try reader("wait: \(text)").milliseconds("wait", in: 0...Int.max) == milliseconds)
    }

    @Test(
        "knows amounts of memory",
        arguments: [("0", 0), ("512", 512), ("1KiB", 1024), ("10 MiB", 10_485_760), ("1GiB", 1 << 30)])
    func amounts(_ text: String, _ bytes: Int) throws {
        #expect(try reader("room: \(text)").bytes("room", in: 0...Int.max) == bytes)
    }

    @Test(
        "with a value of the wrong kind gets one sentence",
        arguments: [
            ("name: [a]", "x.yaml:1:7: 'name' must be one value, not a list"),
            ("name: {a: 1}", "x.yaml:1:7: 'name' must be one value, not a group of settings"),
            ("name:", "x.yaml:1:6: 'name' has no value; write one behind it or remove the line"),
            ("port: 0", "x.yaml:1:7: 'port' must be a whole number from 1 to 9, not '0'"),
            ("port: ten", "x.yaml:1:7: 'port' must be a whole number from 1 to 9, not 'ten'"),
            ("loud: yes", "x.yaml:1:7: 'loud' must be true or false, not 'yes'"),
            ("color: blue", "x.yaml:1:8: 'color' must be one of red, green, not 'blue'"),
            (
                "wait: 10",
                "x.yaml:1:7: 'wait' must be a length of time such as 250ms, 10s, 5m, 2h or 30d, not '10'"
            ),
            (
                "wait: -1s",
                "x.yaml:1:7: 'wait' must be a length of time such as 250ms, 10s, 5m, 2h or 30d, not '-1s'"
            ),
            ("wait: 61s", "x.yaml:1:7: 'wait' must be from 1s to 1m, not '61s'"),
            (
                "wait: 99999999999999999999d",
                "x.yaml:1:7: 'wait' must be a length of time such as 250ms, 10s, 5m, 2h or 30d, "
                    + "not '99999999999999999999d'"
            ),
            (
                "room: 1MB",
                "x.yaml:1:7: 'room' must be an amount of memory such as 512, 64KiB, 10MiB or 1GiB, not '1MB'"
            ),
            ("room: 2KiB", "x.yaml:1:7: 'room' must be from 0 to 1KiB, not '2KiB'"),
            ("hosts: a", "x.yaml:1:8: 'hosts' must be a list; write '- a' in the line below"),
            ("hosts: {a: 1}", "x.yaml:1:8: 'hosts' must be a list; begin each item with '- '"),
            ("hosts: [[a]]", "x.yaml:1:9: 'hosts' must be a list of single values, not of a list"),
            ("group: a", "x.yaml:1:8: 'group' must hold settings such as 'name: value', not text"),
            ("groups: [a]", "x.yaml:1:10: 'groups[0]' must hold settings such as 'name: value', not text"),
        ]
    )
    func wrongKinds(_ text: String, _ sentence: String) throws {
        let root = try reader(text)
        let error = #expect(throws: YAMLError.self) {
            _ = try root.string("name")
            _ = try root.integer("port", in: 1...9)
            _ = try root.boolean("loud")
            _ = try root.choice("color", of: Color.self)
            _ = try root.milliseconds("wait", in: 1000...60_000)
            _ = try root.bytes("room", in: 0...1024)
            _ = try root.strings("hosts")
            _ = try root.mapping("group")
            _ = try root.mappings("groups")
        }
        #expect(error?.description == sentence)
    }

    @Test("has mappings whose names are the user's own, each with one value or none")
    func texts() throws {
        let root = try reader("header: {b: 1, a: null}\nempty: {}\nlist: [a]\ndeep: {\n a: [b]}")
        let header = try #require(try root.texts("header"))
        #expect(header.map(\.name) == ["b", "a"] && header.map(\.text) == ["1", nil])
        #expect(try root.texts("empty")?.isEmpty == true)
        #expect(try root.texts("missing") == nil)
        #expect(root.isMapping("header") && !root.isMapping("list") && !root.isMapping("missing"))
        #expect(
            root.error("header", in: "a", "is wrong").description
                == "x.yaml:1:16: 'header' has 'a', which is wrong")
        for (name, sentence) in [
            ("list", "x.yaml:3:7: 'list' must hold lines such as 'name: value', not a list"),
            ("deep", "x.yaml:5:2: 'deep' has 'a', which must have one value, not a list"),
        ] {
            let error = #expect(throws: YAMLError.self) { _ = try root.texts(name) }
            #expect(error?.description == sentence)
        }
    }

    @Test("that holds no settings at all is refused")
    func root() {
        let error = #expect(throws: YAMLError.self) { try reader("- a") }
        #expect(
            error?.description == "x.yaml:1:1: the file must hold settings such as 'name: value', not a list")
    }

    @Test("without a setting that must be there gets a sentence with the group's place")
    func missing() throws {
        let root = try reader("\nprovider:\n  port: 1\n")
        let provider = try root.required("provider", root.mapping)
        let error = #expect(throws: YAMLError.self) { try provider.required("listen", provider.string) }
        #expect(error?.description == "x.yaml:2:1: 'provider.listen' is missing; write 'listen: ...' here")
        let port = try provider.required("port") { name throws(YAMLError) in
            try provider.integer(name, in: 1...9)
        }
        #expect(port == 1)
    }

    @Test(
        "with a setting that nobody knows gets a sentence, and a guess where one is near",
        arguments: [
            ("nmae: a", "x.yaml:1:1: 'nmae' is not a setting; did you mean 'name'?"),
            ("color: a", "x.yaml:1:1: 'color' is not a setting; known here: name, group, groups"),
            ("nam: a", "x.yaml:1:1: 'nam' is not a setting; did you mean 'name'?"),
            ("gruop: a", "x.yaml:1:1: 'gruop' is not a setting; did you mean 'group'?"),
            ("group:\n  color: 1", "x.yaml:2:3: 'group.color' is not a setting; known here: port"),
            ("group:\n  ports: 1", "x.yaml:2:3: 'group.ports' is not a setting; did you mean 'port'?"),
            (
                "groups:\n- {}\n- id: 1",
                "x.yaml:3:3: 'groups[1].id' is not a setting; nothing can be set here"
            ),
        ]
    )
    func unknown(_ text: String, _ sentence: String) throws {
        let root = try reader(text)
        _ = try root.string("name")
        _ = try root.mapping("group")?.integer("port", in: 1...9)
        _ = try root.mappings("groups")
        let error = #expect(throws: YAMLError.self) { try root.finish() }
        #expect(error?.description == sentence)
    }

    @Test("lets its reader complain about a value in the same words")
    func complaint() throws {
        let root = try reader("a: 1\nlisten: nowhere")
        #expect(
            root.error("listen", "must be an address").description
                == "x.yaml:2:9: 'listen' must be an address")
    }
}
