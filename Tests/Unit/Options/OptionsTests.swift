import PostriderOptions
import Testing

private enum Color: String, CaseIterable { case red, green }

private let table = OptionTable(
    command: "postrider paint",
    summary: "Paints a house in a color.",
    operands: [.required("HOUSE"), .optional("DOOR")],
    options: [
        .value("color", short: "c", "NAME", "The color: red or green."),
        .value("coats", "NUMBER", "How many coats."),
        .list("window", short: "w", "NAME", "A window to paint as well."),
        .flag("quickly", short: "q", "Do not wait until it is dry."),
        .flag("verbose", short: "v", "Say what is done."),
    ]
)

@Suite("A command line")
struct ParsingTests {
    @Test(
        "gives an option's value in every spelling that GNU has",
        arguments: [
            ["--color", "red", "home"], ["--color=red", "home"], ["-c", "red", "home"], ["-cred", "home"],
            ["home", "--color", "red"], ["-qcred", "home"], ["--color=red", "--", "home"],
            ["--col=red", "home"],
        ]
    )
    func spellings(_ arguments: [String]) throws {
        let options = try table.parse(arguments)
        #expect(options.string("color") == "red")
        #expect(options.operands == ["home"])
    }

    @Test("keeps the values of a repeated option in order")
    func lists() throws {
        let options = try table.parse(["-w", "east", "home", "--window=west", "-wnorth"])
        #expect(options.list("window") == ["east", "west", "north"])
        #expect(options.list("color").isEmpty)
    }

    @Test("may have flags together, and twice")
    func flags() throws {
        let options = try table.parse(["-qv", "-q", "home"])
        #expect(options.isSet("quickly") && options.isSet("verbose") && !options.isSet("color"))
    }

    @Test("has operands that look like options after two dashes, and a single dash anywhere")
    func dashes() throws {
        #expect(try table.parse(["--", "--color", "-q"]).operands == ["--color", "-q"])
        #expect(try table.parse(["-", "-q"]).operands == ["-"])
        #expect(try table.parse(["-c", "-q", "home"]).string("color") == "-q")
        #expect(try table.parse(["--color=", "home"]).string("color")?.isEmpty == true)
    }

    @Test(
        "that names no file where it should is refused",
        arguments: [
            ["--plan", "", "home"], ["--plan=", "home"], ["-p", "", "home"], ["--photo=", "home"],
        ])
    func emptyNames(_ arguments: [String]) {
        let table = OptionTable(
            command: "postrider paint", summary: "Paints a house.", operands: [.required("HOUSE")],
            options: [
                .file("plan", short: "p", as: "SHEET", "The plan."), .file("photo", "A photo of it."),
            ])
        let value = arguments[0].hasPrefix("--photo") ? "--photo FILE" : "--plan SHEET"
        let name = value.prefix { $0 != " " }
        #expect(throws: UsageError("postrider paint: \(name) needs a value: \(value)")) {
            try table.parse(arguments)
        }
    }

    @Test(
        "that asks for help is read no further",
        arguments: [["--help"], ["-h"], ["-qh", "--nonsense", "a", "b", "c"]])
    func help(_ arguments: [String]) throws {
        #expect(try table.parse(arguments).asksForHelp)
    }

    @Test(
        "with a mistake gets one sentence",
        arguments: [
            (
                ["--colour", "red"],
                "there is no option '--colour'; 'postrider paint --help' lists the options"
            ),
            (["--nonsense=1"], "there is no option '--nonsense'; 'postrider paint --help' lists the options"),
            (["-x", "home"], "there is no option '-x'; 'postrider paint --help' lists the options"),
            (["-qxv", "home"], "there is no option '-x'; 'postrider paint --help' lists the options"),
            (["-é"], "there is no option '-?'; 'postrider paint --help' lists the options"),
            (["--co", "red"], "'--co' may mean --color or --coats; write out the one that is meant"),
            (["home", "--color"], "--color needs a value: --color NAME"),
            (["home", "-w"], "--window needs a value: --window NAME"),
            (["--quickly=yes", "home"], "--quickly is a flag and takes no value; leave the value away"),
            (["-cred", "--color=green", "home"], "--color was given twice; give it once"),
            ([], "HOUSE is missing; usage: postrider paint [options] HOUSE [DOOR]"),
            (
                ["a", "b", "c"],
                "there is nothing to do with 'c'; usage: postrider paint [options] HOUSE [DOOR]"
            ),
        ]
    )
    func mistakes(_ arguments: [String], _ sentence: String) {
        #expect(throws: UsageError("postrider paint: \(sentence)")) { try table.parse(arguments) }
    }

    @Test("that takes all that is left takes one at least")
    func rest() throws {
        let table = OptionTable(command: "rm", summary: "Removes.", operands: [.rest("FILE")])
        #expect(try table.parse(["a", "b", "c"]).operands == ["a", "b", "c"])
        #expect(throws: UsageError("rm: FILE is missing; usage: rm [options] FILE...")) {
            try table.parse([])
        }
    }

    @Test("that takes all that is left, if anything is, may have nothing")
    func any() throws {
        let table = OptionTable(
            command: "ls", summary: "Lists.", operands: [.optional("HOST"), .any("FILE")])
        for count in 0...3 {
            let words = Array(["a", "b", "c"].prefix(count))
            #expect(try table.parse(words).operands == words)
        }
        #expect(table.usage == "ls [options] [HOST] [FILE...]")
    }

    @Test("is read from many threads at once without one disturbing another")
    func threads() async {
        await withTaskGroup(of: Bool.self) { group in
            for number in 0..<200 {
                group.addTask {
                    (try? table.parse(["-c", "\(number)", "home"]))?.string("color") == "\(number)"
                }
            }
            for await isRight in group { #expect(isRight) }
        }
    }
}

@Suite("A value")
struct ValueTests {
    @Test("is a whole number within its range", arguments: ["1", "9", "+3", "007"])
    func integers(_ text: String) throws {
        #expect(try table.parse(["--coats", text, "home"]).integer("coats", in: 1...9) == Int(text))
    }

    @Test(
        "that is no such number gets a sentence",
        arguments: ["0", "10", "two", "", "1.5", "99999999999999999999"])
    func badIntegers(_ text: String) throws {
        let options = try table.parse(["--coats", text, "home"])
        #expect(
            throws: UsageError("postrider paint: --coats must be a whole number from 1 to 9, not '\(text)'")
        ) {
            try options.integer("coats", in: 1...9)
        }
    }

    @Test("is one of the choices, or gets a sentence that lists them")
    func choices() throws {
        #expect(try table.parse(["-cred", "home"]).choice("color", of: Color.self) == .red)
        let options = try table.parse(["-cblue", "home"])
        #expect(throws: UsageError("postrider paint: --color must be one of red, green, not 'blue'")) {
            try options.choice("color", of: Color.self)
        }
    }

    @Test("that was not given is nil, unless it must be given")
    func missing() throws {
        let options = try table.parse(["home"])
        #expect(try options.integer("coats", in: 1...9) == nil)
        #expect(try options.choice("color", of: Color.self) == nil)
        #expect(
            throws: UsageError(
                "postrider paint: --color is missing; 'postrider paint --help' says what it is")
        ) {
            try options.requiredString("color")
        }
    }
}

@Suite("The help of a command")
struct HelpTests {
    @Test("lays out summary, usage, sections, options and examples in 80 columns")
    func layout() {
        let table = OptionTable(
            command: "postrider paint", summary: "Paints a house in a color.", operands: [.required("HOUSE")],
            options: [
                .value(
                    "color", short: "c", "NAME",
                    "The color: any that the shop has, which is red or green today."),
                .list("a-rather-long-name", "PLACEHOLDER", "Whatever."),
                .flag("quickly", "Do not wait."),
            ],
            sections: [.init("Environment", [("POSTRIDER_SHOP", "Where the color is bought.")])],
            examples: [
                .init("Paint it red", "postrider paint -c red home"), .init("Or not", "postrider paint home"),
            ]
        )
        let expected = """
            Paints a house in a color.

            Usage: postrider paint [options] HOUSE

            Environment:
              POSTRIDER_SHOP  Where the color is bought.

            Options:
              -c, --color NAME  The color: any that the shop has, which is red or green
                                today.
                  --a-rather-long-name PLACEHOLDER...
                                Whatever.
                  --quickly     Do not wait.
              -h, --help        Print this help.

            Examples:
              # Paint it red
              postrider paint -c red home

              # Or not
              postrider paint home
            """
        #expect(table.helpText == expected)
    }
}
