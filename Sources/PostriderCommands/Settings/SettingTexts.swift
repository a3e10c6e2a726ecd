import PostriderNotifications
package import PostriderOptions
package import PostriderYAML

/// The names of a program's settings, in the order in which they are shown.
package protocol SettingName: Hashable, CaseIterable, RawRepresentable<String> {
    /// The settings that a reload applies. All others apply from the next start on.
    static var reloaded: Set<Self> { get }
    /// The settings that may be lists: a YAML list in the configuration file, and separated by commas elsewhere.
    static var lists: Set<Self> { get }
    /// Those of ``lists`` whose values are arbitrary words. A word with a comma is refused, because it would be read
    /// as two.
    static var words: Set<Self> { get }
}

extension SettingName {
    package static var lists: Set<Self> { [] }
    package static var words: Set<Self> { [] }

    /// The environment variable of the setting.
    package var variable: String {
        EnvironmentNames.prefix + rawValue.uppercased().replacing("-", with: "_")
    }
}

/// The settings as the user has written them. An option takes precedence over the environment, and the environment
/// over the configuration file. Every value knows its source, so that an error can name it.
package struct SettingTexts<Name: SettingName> {
    private struct Value {
        let text: String
        /// Makes an error from a sentence that continues after the value's source.
        let mistake: (String) -> any Error
    }

    private var values: [Name: Value] = [:]
    /// The configuration file that was read; nil if there was none.
    package let file: String?

    /// Reads all sources. `others` reads what the file contains besides settings with these names.
    ///
    /// - Throws: ``CommandFailure`` for a file that is not YAML or has an unknown setting.
    package init(
        options: ParsedOptions, environment: [String: String], file: (path: String, text: String)?,
        others: (YAMLReader) throws(YAMLError) -> Void = { _ in }
    ) throws(CommandFailure) {
        self.file = file?.path
        if let file { try read(file.text, file.path, others) }
        for name in Name.allCases {
            let variable = name.variable
            if let text = environment[variable], !text.isEmpty {
                values[name] = Value(text: text) { CommandFailure("\(variable) \($0)", exitCode: 2) }
            }
            guard options.table.options.contains(where: { $0.name == name.rawValue }) else { continue }
            if let text = options.string(name.rawValue) {
                values[name] = Value(text: text) { options.error("--\(name.rawValue) \($0)") }
            }
        }
    }

    private mutating func read(
        _ text: String, _ path: String, _ others: (YAMLReader) throws(YAMLError) -> Void
    ) throws(CommandFailure) {
        do throws(YAMLError) {
            let reader = try YAMLReader.reading(text: text, file: path)
            for name in Name.allCases {
                let isList = Name.lists.contains(name)
                let list = isList ? try reader.oneOrMore(name.rawValue) : nil
                if Name.words.contains(name), let word = list?.first(where: { $0.contains(",") }),
                    list?.count != 1
                {
                    throw reader.error(name.rawValue, "may not have a comma in a word, as in '\(word)'")
                }
                let found = isList ? list?.joined(separator: ", ") : try reader.string(name.rawValue)
                guard let text = found else { continue }
                values[name] = Value(text: text) {
                    CommandFailure(reader.error(name.rawValue, $0).description, exitCode: 2)
                }
            }
            try others(reader)
            try reader.finish()
        } catch {
            throw CommandFailure(error.description, exitCode: 2)
        }
    }

    /// The error for a named configuration file that does not exist.
    package static func absent(_ path: String) -> CommandFailure {
        CommandFailure(
            "The configuration file \(path) is not there; give the path of one that is, or none.",
            exitCode: 2)
    }

    /// The text of a setting; nil if it is not set.
    package subscript(_ name: Name) -> String? { values[name]?.text }

    /// The text of a setting that must be set.
    package func required(_ name: Name) throws(CommandFailure) -> String {
        guard let value = values[name] else { throw missing(name) }
        return value.text
    }

    /// The error for a required setting that is not set.
    package func missing(_ name: Name) -> CommandFailure {
        let line = file.map { "a line '\(name.rawValue): …' in \($0)" } ?? "a configuration file"
        let variable = name.variable
        return CommandFailure(
            "\(name.rawValue) is not set: give --\(name.rawValue), \(variable) or \(line).", exitCode: 2)
    }

    /// The value that `read` makes of a setting's text; nil if it is not set. If `read` returns nil, the text is
    /// wrong, and `form` says what it must be.
    package func value<Result>(_ name: Name, form: String, _ read: (String) -> Result?) throws -> Result? {
        guard let value = values[name] else { return nil }
        guard let result = read(value.text) else {
            throw value.mistake("must be \(form), not '\(value.text)'")
        }
        return result
    }

    /// A setting of words with commas between them, as ``value(_:form:_:)`` reads one.
    package func list<Result>(_ name: Name, form: String, _ read: ([String]) -> Result?) throws -> Result? {
        try value(name, form: form) { text in read(text.split(separator: ",").map { $0.trimmed }) }
    }

    /// A whole number in this range; nil if it is not set.
    package func number(_ name: Name, in range: ClosedRange<Int>) throws -> Int? {
        try value(name, form: "a whole number from \(range.lowerBound) to \(range.upperBound)") { text in
            Int(text).flatMap { range.contains($0) ? $0 : nil }
        }
    }

    /// A case of `Choice`, given by its raw value; nil if it is not set.
    package func choice<Choice: CaseIterable & RawRepresentable<String>>(
        _ name: Name, of type: Choice.Type
    ) throws -> Choice? {
        let known = Choice.allCases.map(\.rawValue).joined(separator: ", ")
        return try value(name, form: "one of \(known)", Choice.init(rawValue:))
    }

    /// `true` or `false`; nil if it is not set.
    package func boolean(_ name: Name) throws -> Bool? { try value(name, form: "true or false") { Bool($0) } }

    /// A setting that a reload has applied.
    package struct Change {
        package let name: Name
        /// Its text; nil if it is not set any more.
        package let new: String?
        /// Its text before; nil if it was not set.
        package let old: String?

        /// What was changed, for the log.
        package var sentence: String {
            let (name, before) = (name.rawValue, old.map { "it was \($0)" } ?? "it was not set")
            return new.map { "\(name) is \($0) now (\(before))" } ?? "\(name) is not set now (\(before))"
        }
    }

    /// The settings that a reload applies and whose texts have changed, in the order of their names' declaration.
    package func changes(since before: SettingTexts) -> [Change] {
        Name.allCases.filter { Name.reloaded.contains($0) && self[$0] != before[$0] }
            .map { Change(name: $0, new: self[$0], old: before[$0]) }
    }

    /// The end of a reload's log line, about changed settings that apply only from the next start on; empty if there
    /// are none.
    package func unheeded(since start: SettingTexts) -> String {
        let names = Name.allCases.filter { !Name.reloaded.contains($0) && self[$0] != start[$0] }
        guard !names.isEmpty else { return "" }
        let list = names.map(\.rawValue).joined(separator: ", ")
        return "; \(list) \(names.count == 1 ? "has" : "have") changed, which counts from the next start on"
    }

    /// An error in a setting that names the value's source.
    package func mistake(_ name: Name, _ sentence: String) -> any Error {
        values[name]?.mistake(sentence) ?? CommandFailure("\(name.rawValue) \(sentence)", exitCode: 2)
    }
}
