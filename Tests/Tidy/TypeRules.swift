import Foundation

/// One type of a module: its declarations in all files, without its nested types.
struct TypeMeasure {
    /// The file of its declaration; nil if the module only extends it.
    var file: TextFile?
    /// Lines of code in all declarations and extensions, without blank lines and comments.
    var lines = 0
    var storedProperties = 0
    /// The capitalised names in its code that are not members of something else.
    var mentioned: Set<String> = []
}

/// The types of the package's modules. The code is read line by line; a declaration begins a line, because of the
/// formatter.
struct TypeTable {
    /// The types by module, then by name; a nested type is called `Outer.Inner`.
    private(set) var types: [String: [String: TypeMeasure]] = [:]

    init(_ files: [TextFile]) {
        for file in files {
            guard file.isSwift, let module = file.module else { continue }
            read(file, of: module)
        }
    }

    private struct Scope {
        let name: String
        let isExtension: Bool
        /// The number of open braces where it begins.
        let depth: Int
    }

    private mutating func read(_ file: TextFile, of module: String) {
        var scopes: [Scope] = []
        var announced: (name: String, isExtension: Bool)?
        var depth = 0
        for line in file.code.lines {
            let isMemberLevel = scopes.last.map { depth == $0.depth + 1 } ?? (depth == 0)
            if isMemberLevel, let (kind, name) = Self.declaration(in: line) {
                let path = scopes.last.map { "\($0.name).\(name)" } ?? name
                announced = (path, kind == "extension")
                if kind != "extension" {
                    types[module, default: [:]][path, default: TypeMeasure()].file = file
                }
            } else if isMemberLevel, let scope = scopes.last, !scope.isExtension, Self.storesProperty(line) {
                types[module]?[scope.name]?.storedProperties += 1
            }
            if let name = scopes.last?.name ?? announced?.name {
                note(line, in: name, of: module)
            }
            for character in line {
                switch character {
                case "{":
                    if let (name, isExtension) = announced {
                        scopes.append(Scope(name: name, isExtension: isExtension, depth: depth))
                        announced = nil
                    }
                    depth += 1
                case "}":
                    depth -= 1
                    if scopes.last?.depth == depth { scopes.removeLast() }
                default: break
                }
            }
        }
    }

    private mutating func note(_ line: String, in name: String, of module: String) {
        guard line.contains(where: { $0 != " " }) else { return }
        types[module, default: [:]][name, default: TypeMeasure()].lines += 1
        // The names in a nested type count for its outermost type.
        let outermost = String(name.prefix { $0 != "." })
        types[module, default: [:]][outermost, default: TypeMeasure()].mentioned.formUnion(
            Self.names(in: line))
    }

    private static let kinds: Set = ["struct", "class", "enum", "actor", "protocol", "extension"]
    private static let modifiers: Set = [
        "public", "private", "fileprivate", "internal", "package", "final", "indirect", "open", "lazy",
        "weak",
        "unowned", "nonisolated",
    ]

    /// Returns the words of a declaration, from the first that is neither an attribute nor a modifier.
    private static func words(of line: String) -> ArraySlice<Substring> {
        line.split(separator: " ").drop { word in
            word.first == "@" || modifiers.contains(String(word.prefix { $0 != "(" }))
        }
    }

    /// Returns the kind and name that a line declares or extends.
    private static func declaration(in line: String) -> (kind: String, name: String)? {
        let words = words(of: line)
        guard let kind = words.first, kinds.contains(String(kind)), let name = words.dropFirst().first else {
            return nil
        }
        return (String(kind), String(name.prefix { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "." }))
    }

    /// Whether a line of a type's body declares a stored property.
    private static func storesProperty(_ line: String) -> Bool {
        guard let first = words(of: line).first, first == "let" || first == "var" else { return false }
        guard let brace = line.firstIndex(of: "{") else { return true }
        // With a value before the brace it is stored; otherwise the brace begins a computed property.
        return line.firstIndex(of: "=").map { $0 < brace } ?? false
    }

    /// Returns the capitalised names in a line that are not members of something else.
    private static func names(in line: String) -> Set<String> {
        var names: Set<String> = []
        var word: [UInt8] = []
        var previous = UInt8(ascii: " ")
        for byte in Array(line.utf8) + [UInt8(ascii: " ")] {
            let isUpper = (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
            let isWord =
                isUpper || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: "_")
            if isWord {
                word.append(byte)
            } else {
                if let first = word.first, (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(first),
                    previous != UInt8(ascii: ".")
                {
                    names.insert(String(decoding: word, as: UTF8.self))
                }
                word = []
                previous = byte
            }
        }
        return names
    }
}

/// Rules about types. A type in many files is still one large type.
enum TypeRules {
    static let mostProperties = 15
    static let mostLines = 400

    /// The only types that may be larger, each with the reason.
    static let exceptions: [String: String] = [
        "PostriderRelay.RelayConfiguration": "one property for each setting",
        "PostriderRelay.Control.TracedPush": "a message: one property for each field",
        "PostriderRelay.Control.Device": "a message: one property for each field",
        "PostriderAgent.AgentConfiguration": "one property for each setting",
        "PostriderLoad.LoadScenario.Settings": "one property for each setting",
        "postrider.DevValues": "one property for each option",
        "PostriderLoad.LoadResult": "a file: one property for each part",
        "PostriderLoad.LoadResult.Phase": "a file: one property for each figure",
        "PostriderLoad.LoadTally": "one property for each figure",
    ]

    /// Returns types that are too large, and exceptions that are not needed any more.
    static func sizes(_ table: TypeTable, exceptions: [String: String] = exceptions) -> [Finding] {
        var findings: [Finding] = []
        var large: Set<String> = []
        for (module, types) in table.types {
            for (name, type) in types where type.storedProperties > mostProperties || type.lines > mostLines {
                guard let file = type.file else { continue }
                large.insert("\(module).\(name)")
                guard exceptions["\(module).\(name)"] == nil else { continue }
                findings.append(
                    Finding(
                        file,
                        "\(name) has \(type.storedProperties) stored properties and \(type.lines) lines "
                            + "of code; \(mostProperties) and \(mostLines) are the most: "
                            + "split it into things of their own"
                    ))
            }
        }
        let list = TextFile(path: "Tests/Tidy/TypeRules.swift", text: "")
        findings += exceptions.keys.filter { !large.contains($0) }.sorted().map {
            Finding(list, "\($0) needs no place in the list any more")
        }
        return findings.sorted { $0.description < $1.description }
    }

    /// Returns types in different folders of a module that mention each other, directly or through others.
    static func circles(in module: String, _ table: TypeTable) -> [Finding] {
        let types = (table.types[module] ?? [:]).filter { !$0.key.contains(".") && $0.value.file != nil }
        func reached(from start: String) -> Set<String> {
            var (seen, open) = (Set<String>(), [start])
            while let name = open.popLast() {
                for next in types[name]?.mentioned ?? [] where types[next] != nil && next != name {
                    if seen.insert(next).inserted { open.append(next) }
                }
            }
            return seen
        }
        let reach = Dictionary(uniqueKeysWithValues: types.keys.map { ($0, reached(from: $0)) })
        return types.keys.sorted().compactMap { name in
            guard let file = types[name]?.file else { return nil }
            let others = (reach[name] ?? []).sorted().filter {
                reach[$0]?.contains(name) == true && types[$0]?.file?.folder != file.folder
            }
            return others.isEmpty
                ? nil
                : Finding(
                    file,
                    "\(name) is in a circle with types of other folders: \(others.joined(separator: ", "))")
        }
    }
}

extension TextFile {
    /// The folder of the type's file.
    fileprivate var folder: String { components.dropLast().joined(separator: "/") }
}
