import Foundation
import ProgramFixtures

/// The files of this repository that git does not ignore.
struct Repository {
    /// The folder of Package.swift.
    let root: URL
    /// Paths from the root, in order.
    let paths: [String]
    /// All text files.
    let files: [TextFile]

    init() throws {
        root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let listing = try Self.run(
            [
                "git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others",
                "--exclude-standard",
            ],
            in: root
        )
        let root = root
        let paths = Set(listing.output.split(separator: "\0").map(String.init)).sorted()
            .filter { FileManager.default.fileExists(atPath: root.appending(path: $0).path) }
        self.paths = paths
        files = try paths.compactMap { path in
            let bytes = try Data(contentsOf: root.appending(path: path))
            return String(validating: bytes, as: UTF8.self).map { TextFile(path: path, text: $0) }
        }
    }

    /// Runs a program from PATH and waits for it.
    static func run(_ command: [String], in folder: URL) throws -> (status: Int32, output: String) {
        let (exitCode, output) = try ChildProgram.run("/usr/bin/env", command, directory: folder.path)
        return (exitCode, output)
    }
}

/// One file of the repository.
struct TextFile {
    let path: String
    let text: String
    /// The text, line by line; the end of the last line begins no other.
    let lines: [String]
    /// The code of a Swift file; empty for any other file.
    let code: SwiftCode

    init(path: String, text: String) {
        self.path = path
        self.text = text
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        if lines.last?.isEmpty == true { lines.removeLast() }
        self.lines = lines
        code = SwiftCode(path.hasSuffix(".swift") ? text : "")
    }

    /// The folders and the name.
    var components: [String] { path.split(separator: "/").map(String.init) }
    /// Whether it is Swift.
    var isSwift: Bool { path.hasSuffix(".swift") }
    /// Whether it is Markdown.
    var isMarkdown: Bool { path.hasSuffix(".md") }
    /// The file's target, by its folder: `Sources/PostriderRelay/…` → `PostriderRelay`; nil for tests and everything
    /// else.
    var module: String? { components.count > 2 && components[0] == "Sources" ? components[1] : nil }
    /// The module that the file belongs to or tests, without the package's prefix: `Sources/PostriderRelay/…` and
    /// `Tests/Unit/Relay/…` → `Relay`.
    var subject: String? {
        guard components.count > 3 && components[0] == "Tests" else {
            return module.map { String($0.trimmingPrefix("Postrider")) }
        }
        return components[2]
    }
}

/// A violation of a rule.
struct Finding: CustomStringConvertible {
    let path: String
    let line: Int?
    let sentence: String

    init(_ file: TextFile, line: Int? = nil, _ sentence: String) {
        path = file.path
        self.line = line
        self.sentence = sentence
    }

    var description: String { path + (line.map { ":\($0)" } ?? "") + ": " + sentence }
}

/// A rule: returns the violations in a file.
typealias Rule = @Sendable (TextFile) -> [Finding]

/// Returns a finding for each line in which the pattern occurs. In Swift, comments and string literals are ignored.
func occurrences(of pattern: String, in file: TextFile, _ sentence: String) -> [Finding] {
    let lines = file.isSwift ? file.code.lines : file.lines
    return zip(1..., lines).compactMap { number, line in
        line.range(of: pattern, options: .regularExpression) == nil
            ? nil : Finding(file, line: number, sentence)
    }
}

/// Returns the matches of the only group of a regular expression, in order.
func captures(of pattern: String, in text: Substring) -> [Substring] {
    guard let expression = try? Regex(pattern, as: (Substring, Substring).self) else {
        preconditionFailure("\(pattern) is no regular expression with one group")
    }
    return text.matches(of: expression).map(\.output.1)
}
