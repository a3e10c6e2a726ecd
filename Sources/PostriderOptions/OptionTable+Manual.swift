extension OptionTable {
    /// The manual page of the command, section 1, in the macros of man(7).
    ///
    /// - Parameters:
    ///   - version: the program and its version, for the page's footer, such as `postrider 1.0`.
    ///   - actions: the tables of the command's actions, which stand on the same page.
    ///   - others: the names of related pages, such as `postrider-send`.
    public func manualPage(version: String, actions: [OptionTable] = [], others: [String] = []) -> String {
        let name = command.replacing(" ", with: "-")
        var lines = [
            // Without a date, one source makes the same bytes on every day.
            ".TH \(Roff.quoted(name.uppercased())) 1 \"\" \(Roff.quoted(version))", ".SH NAME",
            Roff.line("\(name) - \(summary.split(separator: ".").first.map(String.init) ?? summary)"),
            ".SH SYNOPSIS",
        ]
        lines += [Roff.bold(usage)] + actions.flatMap { [".br", Roff.bold($0.usage)] }
        lines += [".SH DESCRIPTION", Roff.line(summary), ".SH OPTIONS"] + options.flatMap(\.roff)
        // The actions have sections of their own below.
        for section in sections where actions.isEmpty || !section.title.hasPrefix("Actions") {
            lines.append(".SH \(Roff.quoted(section.title.uppercased()))")
            for row in section.rows { lines += [".TP", Roff.bold(row.term), Roff.line(row.meaning)] }
        }
        for action in actions {
            lines += [".SH \(Roff.quoted(action.command.uppercased()))", Roff.line(action.summary)]
            lines += action.options.flatMap(\.roff) + action.exampleLines(".SS EXAMPLES")
        }
        lines += exampleLines(".SH EXAMPLES")
        if !others.isEmpty {
            let list = others.map { Roff.bold("\($0)(1)") }
            lines += [".SH \"SEE ALSO\""] + list.dropLast().map { $0 + "\\fR," } + list.suffix(1)
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private func exampleLines(_ heading: String) -> [String] {
        guard !examples.isEmpty else { return [] }
        return [heading]
            + examples.flatMap { example in
                [".PP", Roff.line(example.purpose + ":"), ".PP", ".nf", Roff.bold(example.line), ".fi"]
            }
    }
}

extension Option {
    fileprivate var roff: [String] {
        let names = (short.map { ["-\($0)"] } ?? []) + ["--\(name)"]
        let term = names.map { Roff.bold($0) + "\\fR" }.joined(separator: ", ")
        return [".TP", term + (placeholder.map { " " + Roff.italic($0) } ?? ""), Roff.line(help)]
    }
}

/// Text in the notation of roff (groff(7)).
private enum Roff {
    /// Text that is printed as it is. A dash is the ASCII character, so that options can be copied from the page.
    static func text(_ text: String) -> String {
        text.replacing("\\", with: "\\e").replacing("-", with: "\\-")
    }

    /// A line of text. roff would read a period or an apostrophe at its beginning as a request.
    static func line(_ text: String) -> String {
        (text.first == "." || text.first == "'" ? "\\&" : "") + Self.text(text)
    }

    static func bold(_ text: String) -> String { "\\fB" + Self.text(text) + "\\fR" }

    static func italic(_ text: String) -> String { "\\fI" + Self.text(text) + "\\fR" }

    /// One argument of a request.
    static func quoted(_ text: String) -> String {
        "\"" + Self.text(text).replacing("\"", with: "\\(dq") + "\""
    }
}
