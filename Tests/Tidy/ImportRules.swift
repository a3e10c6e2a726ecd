import Foundation

/// The permitted imports: Package.swift lists them, and these rules compare the files with it.
struct ImportTable {
    /// Each target of the package with its dependencies.
    let dependencies: [String: Set<String>]

    /// Reads the manifest's text: `library("Name", […])`, `tests("Name", "path", […])`, `.executableTarget(…)` and
    /// `.systemLibrary(…)`.
    init(manifest: String) {
        let text = manifest.replacing(#/(?m)//.*$/#, with: "")
        let kinds = "library|tests|executableTarget|systemLibrary|target|testTarget"
        let found = captures(of: #"(?:\#(kinds))\(\s*(?:name:\s*)?"([\w\-]+)""#, in: text[...])
        var dependencies: [String: Set<String>] = [:]
        for (index, target) in found.enumerated() {
            let end = index + 1 < found.count ? found[index + 1].startIndex : text.endIndex
            let call = text[target.endIndex..<end]
            // A product has a list as well, of targets.
            guard !call.drop(while: { $0 != " " }).hasPrefix(" targets:") else { continue }
            // Executables below Tests are no part of the product, such as the fuzzer.
            guard !call.contains("path: \"Tests/") else { continue }
            let list = captures(of: #"\[([^\]]*)\]"#, in: call).first ?? ""
            dependencies[String(target)] = Set(captures(of: #""([\w\-]+)""#, in: list).map(String.init))
        }
        self.dependencies = dependencies
    }

    /// The targets that may import all of Foundation, which adds 34 MB of Unicode tables to a program; all others use
    /// FoundationEssentials.
    static let foundationUsers: Set = ["postrider-example-app"]
    /// The modules that the server must not import, because it uses them through protocols.
    static let hiddenFromRelay: Set = [
        "PostriderAgent", "CPostriderPQ", "CPostriderSQLite", "PostriderClients", "PostriderDBus",
        "PostriderOptions",
        "PostriderKit", "PostriderPostgres", "PostriderStorage", "PostriderYAML",
    ]
    /// The targets with rules of the server that do no I/O.
    static let pure: Set = [
        "PostriderChannels", "PostriderCluster", "PostriderDeviceQueue", "PostriderProviderAPI",
        "PostriderWebPush",
    ]
    /// The targets with I/O that pure ones must not import, not even through others.
    static let hiddenFromPure: Set = [
        "PostriderPostgres", "PostriderStorage", "PostriderSystem", "PostriderTransport",
    ]
    /// The only target that may import the server.
    static let relayUsers: Set = ["postrider"]

    /// Returns the faults of the manifest itself.
    func findings(in file: TextFile) -> [Finding] {
        var findings: [Finding] = []
        let libraries = dependencies.filter { !$0.key.hasSuffix("Tests") }
        for name in Self.hiddenFromRelay where dependencies["PostriderRelay"]?.contains(name) == true {
            findings.append(Finding(file, "Relay may not depend on \(name)"))
        }
        for name in Self.pure.sorted() {
            for hidden in imported(from: name).intersection(Self.hiddenFromPure).sorted() {
                findings.append(Finding(file, "\(name) does no I/O, and may not depend on \(hidden)"))
            }
        }
        for (name, imported) in libraries
        where imported.contains("PostriderRelay") && !Self.relayUsers.contains(name) {
            findings.append(Finding(file, "\(name) may not depend on Relay"))
        }
        for module in dependencies.keys where Self.isC(module) {
            let owners = libraries.filter { $0.value.contains(module) }.map(\.key).sorted()
            if owners.count != 1 {
                findings.append(Finding(file, "\(module) must have one owner, not \(owners)"))
            }
        }
        return findings
    }

    /// Returns the dependencies of a target, and theirs in turn.
    private func imported(from target: String) -> Set<String> {
        var (seen, open) = (Set<String>(), [target])
        while let name = open.popLast() {
            open += (dependencies[name] ?? []).filter { seen.insert($0).inserted }
        }
        return seen
    }

    /// Returns targets without a folder and folders without a target: a sign that the manifest was misread, or is
    /// wrong.
    func strangers(among paths: [String], in file: TextFile) -> [Finding] {
        let folders = Set(paths.map { TextFile(path: $0, text: "") }.compactMap(\.module))
        let targets = Set(dependencies.keys.filter { !$0.hasSuffix("Tests") })
        return folders.symmetricDifference(targets).sorted().map {
            Finding(file, "\($0) must be both a target and a folder in Sources")
        }
    }

    /// Returns the imports in a file of Sources that its target does not declare or must not have.
    func findings(importedBy file: TextFile) -> [Finding] {
        guard let module = file.module, let declared = dependencies[module] else { return [] }
        return zip(1..., file.code.lines).compactMap { number, line in
            guard line.contains("import "), let name = Self.imported(by: line) else { return nil }
            if name == "Foundation", !Self.foundationUsers.contains(module) {
                return Finding(file, line: number, "\(module) has FoundationEssentials instead of Foundation")
            }
            guard dependencies[name] != nil, !declared.contains(name) else { return nil }
            return Finding(file, line: number, "\(module) does not declare \(name) in Package.swift")
        }
    }

    static func isC(_ module: String) -> Bool {
        module.contains(#/^C[A-Z]/#)
    }

    /// Returns the module that a line imports: `public import struct Foundation.URL` → `Foundation`.
    private static func imported(by line: String) -> String? {
        let kinds = "struct|class|enum|protocol|func|var|let|typealias"
        let pattern = #"^\s*(?:@\w+\s+)*(?:\w+\s+)?import\s+(?:(?:\#(kinds))\s+)?(\w+)"#
        return captures(of: pattern, in: line[...]).first.map(String.init)
    }
}
