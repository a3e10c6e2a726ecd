import Foundation

/// Compares the names of types with the glossary.
enum VocabularyRules {
    static let path = "docs/reference/glossary.md"

    /// The last word of each exported type must be an entry of the glossary, or one of the field's terms in its list.
    /// Names of events in Cocoa's style (`DeviceDidWake`) are sentences and are left out.
    static func findings(_ files: [TextFile]) -> [Finding] {
        guard let glossary = files.first(where: { $0.path == path }) else { return [] }
        let known = words(of: glossary)
        return files.filter { $0.isSwift && $0.module != nil }.flatMap { file in
            zip(1..., file.code.lines).compactMap { number, line in
                let kinds = "struct|class|enum|actor|protocol|typealias"
                let declaration = #"^(?:@\S+ )*(?:public|open) (?:final |indirect )?(?:\#(kinds)) (\w+)"#
                guard let name = captures(of: declaration, in: line[...]).first,
                    !name.contains(#/(Did|Will)[A-Z]/#), let head = words(in: name).last,
                    known.isDisjoint(with: [head, head + "s", String(head.trimmingSuffix("s"))])
                else { return nil }
                return Finding(file, line: number, "declares \(name), and \(path) does not know '\(head)'")
            }
        }
    }

    /// Returns the last words of the entries, which are bold at the beginning of a line, and the words between the
    /// marks.
    private static func words(of glossary: TextFile) -> Set<String> {
        let entries = glossary.lines.compactMap { captures(of: #"^\*\*([^*]+)\.\*\*"#, in: $0[...]).first }
        var known: Set<String> = []
        for entry in entries.flatMap({ $0.split(separator: ", ") }) {
            if let last = entry.split(whereSeparator: { " -".contains($0) }).last {
                known.insert(last.lowercased())
            }
        }
        let parts = glossary.text.components(separatedBy: "<!-- terms: begin -->")
        for line in parts.last?.split(separator: "\n") ?? [] where line.hasPrefix("| ") {
            guard let cell = line.split(separator: "|").last else { continue }
            known.formUnion(cell.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) })
        }
        return known
    }

    /// Returns the words of a name in lower case: `HTTP2Handler` → `http2`, `handler`.
    private static func words(in name: Substring) -> [String] {
        captures(of: #"([A-Z]+\d*(?![a-z])|[A-Z][a-z]+\d*|\d+|[a-z]+)"#, in: name).map { $0.lowercased() }
    }
}

extension StringProtocol {
    /// Returns the text without this suffix.
    fileprivate func trimmingSuffix(_ suffix: String) -> SubSequence {
        hasSuffix(suffix) ? dropLast(suffix.count) : self[...]
    }
}
