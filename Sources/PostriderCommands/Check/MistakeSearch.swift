import FoundationEssentials
import PostriderNotifications
import PostriderOptions

/// Finds all mistakes of a configuration file, although its reader stops at the first: a line with a mistake is masked,
/// and the file is read again.
///
/// The reader says where a mistake is at the beginning of its sentence: `FILE:LINE:COLUMN: …`, or `NAME …` for a
/// variable of the environment. A mistake that the search cannot mask is the last one that it finds.
package struct MistakeSearch {
    /// The path of the file, as the sentences have it.
    package let path: String
    /// The text of the file, without the mistakes that were found.
    package private(set) var text: String
    /// The environment without the variables that are wrong.
    package private(set) var environment: [String: String]
    /// One sentence for each mistake, in the order in which they were found.
    package private(set) var sentences: [String] = []
    private let original: [Substring]

    /// Values that stand in for a wrong or a missing one, for settings that must be given.
    private static let substitutes = [
        "relay": "relay.invalid:5223", "state": "state", "certificate": "certificate", "private-key": "key",
        "data-directory": "data", "topic": "com.example.masked", "program": "/bin/true", "run": "[/bin/true]",
        "user": "0",
    ]

    /// The value that stands in for a wrong or missing setting; nil if none does.
    package static func substitute(for name: String) -> String? { substitutes[name] }

    /// The most mistakes that are looked for in one file.
    private static let most = 100

    package init(path: String, text: String, environment: [String: String] = [:]) {
        self.path = path
        self.text = text
        self.environment = environment
        original = text.split(separator: "\n", omittingEmptySubsequences: false)
    }

    /// Reads until there is no further mistake.
    ///
    /// - Parameters:
    ///   - files: settings that name a file. If a mistake is in such a file, the setting is masked.
    ///   - read: reads the text and the environment of the search, and throws the first mistake.
    /// - Returns: what `read` has made of the text without its mistakes; nil if a mistake remains.
    package mutating func run<Result>(
        files: [String] = [], _ read: (MistakeSearch) throws -> Result
    ) -> Result? {
        while sentences.count < Self.most {
            do {
                return try read(self)
            } catch {
                let sentence = "\(error)"
                guard mask(sentence, files) else { return nil }
            }
        }
        return nil
    }

    /// Adds a mistake that was found in another way. It gets the line of the setting that it is about.
    package mutating func add(_ name: String, _ sentence: String) {
        let place = line(of: name).map { "\(path):\($0)" } ?? path
        sentences.append("\(place): '\(name)': \(sentence)")
    }

    /// Prints the sentences about a file.
    package static func tell(_ mistakes: [String], of path: String, asJSON: Bool) throws {
        if asJSON {
            Console.say(try Console.json(mistakes))
        } else {
            for mistake in mistakes { Console.say(mistake) }
            if mistakes.isEmpty { Console.say("\(path): nothing is wrong.") }
        }
    }

    /// Whether a setting was wrong, so that nothing more can be said about it.
    package func isMasked(_ name: String) -> Bool {
        guard let number = line(of: name) else { return false }
        return lines[number - 1] != original[number - 1]
    }

    /// The number of the line in which a setting of the whole file begins; nil if the file does not have it.
    private func line(of name: String) -> Int? {
        original.firstIndex { $0.hasPrefix("\(name):") || $0.hasPrefix("\"\(name)\":") }.map { $0 + 1 }
    }

    private var lines: [Substring] { text.split(separator: "\n", omittingEmptySubsequences: false) }

    /// Records a mistake, and removes it. Returns false if that is impossible.
    private mutating func mask(_ sentence: String, _ files: [String]) -> Bool {
        if let number = number(in: sentence) { return mask(sentence, at: number) }
        if let name = environment.keys.first(where: { sentence.hasPrefix("\($0) ") }) {
            sentences.append(sentence)
            environment[name] = nil
            return true
        }
        if let name = Self.substitutes.keys.first(where: { sentence.hasPrefix("\($0) is not set") }) {
            sentences.append("\(path): \(sentence)")
            return supply(name)
        }
        // The mistake is in a file that a setting names, or there is no such file.
        for name in files {
            guard let number = line(of: name), !isMasked(name) else { continue }
            let value = original[number - 1].dropFirst(name.count + 1).prefix { $0 != "#" }.trimmed
            let named = value.split { "\"'".contains($0) }.first ?? ""
            guard !named.isEmpty, sentence.contains(named) else { continue }
            add(name, sentence)
            return mask(line: number)
        }
        sentences.append(sentence)
        return false
    }

    /// Records a mistake in a line of the file, and removes it. Returns false if that is impossible.
    private mutating func mask(_ sentence: String, at number: Int) -> Bool {
        guard original.indices.contains(number - 1) else { return false }
        if sentence.contains("' is missing; "), let name = missing(in: sentence) {
            sentences.append(sentence)
            return name.contains(".") ? mask(line: number) : supply(name)
        }
        // A line that was masked already has no mistake of the user's: what it belongs to is removed.
        var number = number
        if lines[number - 1] == original[number - 1] {
            sentences.append(sentence)
        } else {
            while lines[number - 1] != original[number - 1] {
                guard let outer = outer(of: number) else { return false }
                number = outer
            }
        }
        return !sentence.contains("this is not YAML") && mask(line: number)
    }

    /// The line of the setting to which a line belongs; nil if it belongs to the whole file.
    private func outer(of number: Int) -> Int? {
        let indent = original[number - 1].prefix { $0 == " " }.count
        let outer = original.prefix(number - 1).lastIndex { line in
            !line.trimmed.isEmpty && line.prefix { $0 == " " }.count < indent
        }
        return outer.map { $0 + 1 }
    }

    /// The number of the line in a sentence about this file.
    private func number(in sentence: String) -> Int? {
        guard sentence.hasPrefix("\(path):") else { return nil }
        return Int(sentence.dropFirst(path.count + 1).prefix { $0.isNumber })
    }

    /// The name of a missing setting, such as `apps[0].topic`.
    private func missing(in sentence: String) -> String? {
        let parts = sentence.split(separator: "'", maxSplits: 2)
        return parts.count > 1 ? String(parts[1]) : nil
    }

    /// Adds a value for a setting of the whole file that is missing. One of a nested part cannot be added.
    private mutating func supply(_ name: String) -> Bool {
        guard let value = Self.substitutes[name], !lines.contains(where: { $0.hasPrefix("\(name):") }),
            !text.hasSuffix("\n\(name): \(value)\n")
        else { return false }
        text += "\n\(name): \(value)\n"
        return true
    }

    /// Removes the setting that begins in this line, with the lines that belong to it. A setting that must be given
    /// gets another value.
    private mutating func mask(line number: Int) -> Bool {
        var lines = lines
        let first = lines[number - 1]
        let indent = first.prefix { $0 == " " }.count
        let isItem = first.dropFirst(indent).hasPrefix("- ")
        let key = first.dropFirst(indent + (isItem ? 2 : 0)).prefix { $0 != ":" }.trimmed
        let substitute = Self.substitutes[key].map { "\(key): \($0)" } ?? ""
        let head = first.prefix(indent + (isItem ? 2 : 0))
        let value = substitute.isEmpty ? "~" : substitute
        let masked = substitute.isEmpty && !isItem ? "#" : "\(head)\(value)"
        guard masked != first else { return false }
        lines[number - 1] = Substring(masked)
        for next in lines.indices.dropFirst(number) {
            let line = lines[next]
            let isInside = line.prefix { $0 == " " }.count > indent || line.hasPrefix("\(head)- ")
            guard line.trimmed.isEmpty || (isInside && !isItem) else { break }
            lines[next] = "#"
        }
        text = lines.joined(separator: "\n")
        return true
    }
}
