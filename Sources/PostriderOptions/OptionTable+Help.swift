extension OptionTable {
    /// The usage line, such as `postrider send [options] DEVICE-TOKEN`.
    public var usage: String {
        ([command, "[options]"] + operands.map(\.usage)).joined(separator: " ")
    }

    /// The complete help for a terminal of 80 columns, without a line break at the end.
    public var helpText: String {
        let tables =
            sections.map { Self.table($0.title, $0.rows) }
            + [Self.table("Options", options.map { ($0.term, $0.help) })]
        var paragraphs = [Self.wrapped(summary, indent: 0), "Usage: \(usage)"] + tables
        if !examples.isEmpty {
            let lines = examples.map { "  # \($0.purpose)\n  \($0.line)" }
            paragraphs.append("Examples:\n" + lines.joined(separator: "\n\n"))
        }
        return paragraphs.joined(separator: "\n\n")
    }

    private static let columns = 80
    private static let widestTerm = 30

    /// Rows with aligned meanings. If a term is too wide, its meaning is on the next line.
    private static func table(_ title: String, _ rows: [(term: String, meaning: String)]) -> String {
        let width = rows.map(\.term.count).filter { $0 <= widestTerm }.max() ?? 0
        let indent = 2 + width + 2
        let lines = rows.map { row in
            let meaning = wrapped(row.meaning, indent: indent)
            let gap = row.term.count > width ? "\n" + spaces(indent) : spaces(width - row.term.count + 2)
            return "  " + row.term + gap + meaning
        }
        return "\(title):\n" + lines.joined(separator: "\n")
    }

    /// Wraps `text` at the last column, and indents every line but the first.
    private static func wrapped(_ text: String, indent: Int) -> String {
        var lines: [String] = []
        for word in text.split(separator: " ") {
            if let last = lines.last, indent + last.count + 1 + word.count < columns {
                lines[lines.count - 1] = last + " " + word
            } else {
                lines.append(String(word))
            }
        }
        return lines.joined(separator: "\n" + spaces(indent))
    }

    private static func spaces(_ count: Int) -> String { String(repeating: " ", count: count) }
}

extension Option {
    /// The option in the help: `-t, --token TEXT`.
    fileprivate var term: String {
        let names = (short.map { "-\($0), " } ?? "    ") + "--" + name
        return switch argument {
        case .none: names
        case .required(let placeholder), .file(let placeholder): "\(names) \(placeholder)"
        case .repeated(let placeholder): "\(names) \(placeholder)..."
        }
    }
}
