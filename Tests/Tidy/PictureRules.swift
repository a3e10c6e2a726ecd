import Foundation

/// Rules that compare the pictures of the documents with their sources. `make diagrams` makes the pictures.
enum PictureRules {
    /// The hash in a picture must be that of its source's present text, and every source in docs/diagrams must have a
    /// picture.
    static func pictures(_ files: [TextFile]) -> [Finding] {
        let texts = Dictionary(uniqueKeysWithValues: files.map { ($0.path, $0) })
        var drawn: Set<String> = []
        var findings: [Finding] = []
        for picture in files where picture.path.hasSuffix(".svg") {
            guard let line = picture.lines.first, line.hasPrefix("<!-- Made from ") else { continue }
            let parts = line.dropFirst("<!-- Made from ".count).split(separator: ", ")
            guard parts.count == 2, let source = texts[String(parts[0])] else {
                findings.append(Finding(picture, line: 1, "is made from a file that is not there"))
                continue
            }
            drawn.insert(source.path)
            if parts[1].prefix(16) != hash(of: drawable(source)) {
                findings.append(
                    Finding(picture, line: 1, "was made from another \(source.path): run make diagrams"))
            }
        }
        let sources = files.filter { $0.path.hasPrefix("docs/diagrams/") && !$0.path.hasSuffix(".py") }
        findings += sources.filter { !drawn.contains($0.path) }.map {
            Finding($0, "has no picture: run make diagrams")
        }
        return findings
    }

    /// Returns the drawn part of a source: of a page the table between its marks, of everything else the whole text.
    private static func drawable(_ source: TextFile) -> String {
        guard source.isMarkdown else { return source.text }
        let parts = source.text.components(separatedBy: "<!-- bench: measured -->")
        let table = parts.last?.components(separatedBy: "<!-- bench: end -->").first
        return (table ?? "").trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Returns the 64-bit FNV-1a hash, as docs/diagrams/draw.py writes it.
    static func hash(of text: String) -> String {
        let value = text.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// The drawing of the modules must have the dependencies in Package.swift.
    static func modules(_ files: [TextFile], _ table: ImportTable) -> [Finding] {
        guard let drawing = files.first(where: { $0.path == "docs/diagrams/modules.dot" }) else { return [] }
        let drawn = Set(
            drawing.lines.filter { $0.contains("->") }.map { $0.trimmingCharacters(in: .whitespaces) })
        let modules = table.dependencies.filter { !ImportTable.isC($0.key) && !$0.key.hasSuffix("Tests") }
        let declared = Set(
            modules.flatMap { name, imported in
                imported.filter { modules[$0] != nil }.map { "\"\(name)\" -> \"\($0)\"" }
            })
        return drawn.symmetricDifference(declared).sorted().map {
            Finding(drawing, "and Package.swift differ in \($0): run make diagrams")
        }
    }
}
