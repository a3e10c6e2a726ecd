import Foundation

/// Rules that compare the pages with each other and with the repository.
enum PageRules {
    /// A link to a heading (`page.md#heading`) must name a heading of the page, in GitHub's spelling of anchors.
    static func anchors(_ files: [TextFile]) -> [Finding] {
        let pages = files.filter(\.isMarkdown)
        let anchors = Dictionary(uniqueKeysWithValues: pages.map { ($0.path, Set(headings(of: $0))) })
        return pages.flatMap { page in
            zip(1..., page.lines).flatMap { number, line in
                captures(of: #"\]\(([^)\s:]*#[^)\s]+)\)"#, in: line[...]).compactMap { target in
                    let parts = target.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
                    let path =
                        parts[0].isEmpty
                        ? page.path
                        : DocumentRules.resolve(String(parts[0]), from: page.components.dropLast())
                    guard let known = anchors[path], !known.contains(String(parts[1])) else { return nil }
                    return Finding(page, line: number, "links to \(target), and \(path) has no such heading")
                }
            }
        }
    }

    /// Returns the anchors of a page's headings.
    private static func headings(of page: TextFile) -> [String] {
        var isFenced = false
        return page.lines.compactMap { line in
            if line.hasPrefix("```") { isFenced.toggle() }
            guard !isFenced, let title = captures(of: "^#+ (.*)$", in: line[...]).first else { return nil }
            let kept = title.lowercased().filter { $0.isLetter || $0.isNumber || " -_".contains($0) }
            return kept.replacing(" ", with: "-")
        }
    }

    /// The newest numbered section of the changelog must be that of the program's version.
    static func version(_ files: [TextFile]) -> [Finding] {
        guard
            let program = files.first(where: {
                $0.module == "PostriderCommands" && $0.path.hasSuffix("/Program.swift")
            }),
            let changelog = files.first(where: { $0.path == "CHANGELOG.md" })
        else { return [] }
        let own = captures(of: #"static let version = "([^"]+)""#, in: program.text[...]).first
        let newest = captures(of: #"(?m)^## (\d+\.\d+\.\d+) - "#, in: changelog.text[...]).first
        guard own == nil || own != newest else { return [] }
        let versions = "\(newest ?? "none") as its newest version, and Program.version is \(own ?? "none")"
        return [Finding(changelog, "has \(versions)")]
    }
}
