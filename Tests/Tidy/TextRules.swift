import Foundation

/// Rules about every text file of the repository.
enum TextRules {
    static let promises: Rule = { file in
        let words = ["TO" + "DO", "FIX" + "ME", "X" + "XX"].joined(separator: "|")
        return zip(1..., file.lines).compactMap { number, line in
            line.range(of: #"\b("# + words + #")\b"#, options: .regularExpression) == nil
                ? nil : Finding(file, line: number, "puts work off; do it or open an issue")
        }
    }

    static let machinePaths: Rule = { file in
        let folders = ["work", "root", "opt", #"home/\w+"#].joined(separator: "|")
        let pattern = #"(?<![\w.\-/~$}])/("# + folders + #")(?=[/\s"'`:;,)]|$)"#
        return zip(1..., file.lines).compactMap { number, line in
            line.range(of: pattern, options: .regularExpression) == nil
                ? nil : Finding(file, line: number, "names a path of one machine")
        }
    }

    static let all: [(name: String, rule: Rule)] = [
        ("puts no work off", promises), ("names no path of one machine", machinePaths),
    ]
}

/// Rules about statements of the documents about the repository.
enum DocumentRules {
    /// Relative links must lead to files of the repository.
    static func links(_ paths: [String]) -> Rule {
        { file in
            let folder = file.components.dropLast()
            return matches(of: #"\]\(([^)\s]+)\)"#, in: file).compactMap { line, target in
                let path = target.prefix { $0 != "#" }
                guard !path.isEmpty, !target.contains("://"), !target.hasPrefix("mailto:") else { return nil }
                let resolved = resolve(String(path), from: Array(folder))
                return isKnown(resolved, paths)
                    ? nil : Finding(file, line: line, "links to \(target), which is not there")
            }
        }
    }

    /// Files that a document names in `code` must exist. The name may be a path from the root or the end of a path;
    /// for tests, the file name is enough.
    static func mentions(_ paths: [String]) -> Rule {
        { file in
            let fromRoot = #"(?:Sources|Tests|docs|certs|deploy|\.github|\.ci)/[\w.+/\-]+"#
            let byName = #"[\w.+/\-]+\.(?:swift|proto|sh|py|c)"#
            let tests = #"[A-Z]\w*Tests"#
            return matches(of: "`(\(fromRoot)|\(byName)|\(tests))`", in: file).compactMap { line, target in
                var path = target.hasSuffix("/") ? String(target.dropLast()) : target
                if path.contains(#/^\w+Tests$/#) { path += ".swift" }
                guard !isKnown(path, paths), !paths.contains(where: { $0.hasSuffix("/" + path) }) else {
                    return nil
                }
                return Finding(file, line: line, "names \(target), which is not there")
            }
        }
    }

    /// A document's `Type.member` in `code` must be declared in Swift or in a gRPC definition: the member in a file
    /// that declares or extends the type.
    static func members(_ files: [TextFile]) -> Rule {
        let sources = files.compactMap { file in
            file.isSwift
                ? file.code.lines.joined(separator: "\n") : file.path.hasSuffix(".proto") ? file.text : nil
        }
        return { file in
            matches(of: #"`([A-Z]\w*\.[A-Za-z]\w*)(?:\([^`]*\))?`"#, in: file).compactMap { line, target in
                let parts = target.split(separator: ".")
                guard !["swift", "proto", "md"].contains(parts[1]) else { return nil }
                let kinds = "struct|class|enum|actor|protocol|extension|message|service"
                let type = #"\b(\#(kinds))\s+(\w+\.)*\#(parts[0])\b"#
                let member = #"\b(func|var|let|rpc|case( \w[^.\n]*,)?)\s+\#(parts[1])\b|\b\#(parts[1]) = \d"#
                let isDeclared = sources.contains { source in
                    [type, member].allSatisfy { source.range(of: $0, options: .regularExpression) != nil }
                }
                return isDeclared ? nil : Finding(file, line: line, "names \(target), which is not there")
            }
        }
    }

    private static func isKnown(_ path: String, _ paths: [String]) -> Bool {
        path.isEmpty || paths.contains { $0 == path || $0.hasPrefix(path + "/") }
    }

    /// Returns the path from the root for a relative path.
    static func resolve(_ path: String, from folder: some Sequence<String>) -> String {
        var resolved = Array(folder)
        for part in path.split(separator: "/") {
            switch part {
            case ".": break
            case "..": _ = resolved.popLast()
            default: resolved.append(String(part))
            }
        }
        return resolved.joined(separator: "/")
    }

    /// Returns the matches of the pattern's only group with their line numbers; fenced blocks are left out.
    private static func matches(of pattern: String, in file: TextFile) -> [(line: Int, text: String)] {
        var isFenced = false
        var found: [(line: Int, text: String)] = []
        for (number, line) in zip(1..., file.lines) {
            if line.drop(while: { $0 == " " }).hasPrefix("```") { isFenced.toggle() }
            guard !isFenced else { continue }
            found += captures(of: pattern, in: line[...]).map { (number, String($0)) }
        }
        return found
    }
}
