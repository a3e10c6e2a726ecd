import PostriderOptions
import Testing

private let root = OptionTable(
    command: "tool", summary: "A tool.", operands: [.optional("COMMAND")],
    options: [.flag("version", "Print the version.")])
private let tables = [
    OptionTable(
        command: "tool paint", summary: "Paint the user's house. It dries.", operands: [.required("FILE")],
        options: [.value("color", short: "c", "NAME", "The color: red."), .file("plan", "A plan.")]),
    OptionTable(command: "tool keys", summary: "Keys.", operands: [.required("ACTION")]),
    OptionTable(command: "tool keys add", summary: "Add one."),
]

@Suite("The completion of command lines")
struct CompletionTests {
    private let completion = ShellCompletion(root, tables)

    @Test(
        "names every command, action and option in the script of each shell",
        arguments: ShellCompletion.Shell.allCases)
    func names(_ shell: ShellCompletion.Shell) {
        let script = completion.script(for: shell)
        for word in ["paint", "keys", "'tool keys add'", "color", "plan", "version", "help"] {
            #expect(script.contains(shell == .fish ? word.replacing("'", with: "\\'") : word), "\(word)")
        }
    }

    @Test("shows the first sentence of a help, with its quotes and colons escaped as the shell wants")
    func quotes() {
        #expect(completion.script(for: .zsh).contains(#"'paint:Paint the user'\''s house'"#))
        #expect(completion.script(for: .fish).contains(#"-a paint -d 'Paint the user\'s house'"#))
        #expect(!completion.script(for: .zsh).contains("dries"))
    }
}

@Suite("A manual page")
struct ManualPageTests {
    @Test("has the options of the command and of its actions, and what roff would read as its own is escaped")
    func page() {
        let action = OptionTable(
            command: "tool keys add", summary: "'Add' it in C:\\keys.",
            options: [.flag("all", ".hidden ones too.")])
        let page = tables[1].manualPage(version: "tool 1.0", actions: [action], others: ["tool"])
        let lines = page.split(separator: "\n")
        #expect(lines.first == ".TH \"TOOL\\-KEYS\" 1 \"\" \"tool 1.0\"")
        #expect(lines.contains("tool\\-keys \\- Keys"))
        #expect(lines.contains("\\&'Add' it in C:\\ekeys."))
        #expect(lines.contains("\\&.hidden ones too."))
        #expect(lines.contains("\\fB\\-\\-all\\fR\\fR"))
        #expect(lines.contains(".SH \"TOOL KEYS ADD\""))
        #expect(lines.last == "\\fBtool(1)\\fR")
    }
}
