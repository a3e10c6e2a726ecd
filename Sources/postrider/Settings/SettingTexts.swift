import PostriderOptions
import PostriderYAML

/// The names of a program's settings, in the order in which they are shown.
protocol SettingName: Hashable, CaseIterable, RawRepresentable<String> {
    /// Those that a reload takes on; all others count from the next start on.
    static var reloaded: Set<Self> { get }
    /// Those that can be lists: in the configuration file as a list of YAML, elsewhere with commas between.
    static var lists: Set<Self> { get }
    /// Those of ``lists`` whose values are words of any kind; one with a comma would be taken for two.
    static var words: Set<Self> { get }
}

extension SettingName {
    static var lists: Set<Self> { [] }
    static var words: Set<Self> { [] }
}

/// Settings as the user has written them: an option wins over the environment, which wins over the configuration file.
/// Every value knows where it comes from, so that a mistake in it is told with its place.
struct SettingTexts<Name: SettingName> {
    private struct Value {
        let text: String
        /// Makes the error of a sentence that goes on after the value's place.
        let mistake: (String) -> any Error
    }

    private var values: [Name: Value] = [:]
    /// The configuration file that was read, nil if there was none.
    let file: String?

    /// Reads all places; `others` reads what the file holds besides settings of these names.
    ///
    /// - Throws: ``CommandFailure`` for a file that is no YAML or has a setting that nobody knows.
    init(
        options: ParsedOptions, environment: [String: String], file: (path: String, text: String)?,
        others: (YAMLReader) throws(YAMLError) -> Void = { _ in }
    ) throws(CommandFailure) {
        self.file = file?.path
        if let file { try read(file.text, file.path, others) }
        for name in Name.allCases {
            let variable = Setting.variable(name.rawValue)
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

    /// The mistake of a configuration file that somebody has named and that is not there.
    static func absent(_ path: String) -> CommandFailure {
        CommandFailure(
            "The configuration file \(path) is not there; give the path of one that is, or none.",
            exitCode: 2)
    }

    /// The text of a setting, nil where nobody has set it.
    subscript(_ name: Name) -> String? { values[name]?.text }

    /// The text of a setting that must be set.
    func required(_ name: Name) throws(CommandFailure) -> String {
        guard let value = values[name] else { throw missing(name) }
        return value.text
    }

    /// The mistake of one that must be set and is not.
    func missing(_ name: Name) -> CommandFailure {
        let line = file.map { "a line '\(name.rawValue): …' in \($0)" } ?? "a configuration file"
        let variable = Setting.variable(name.rawValue)
        return CommandFailure(
            "\(name.rawValue) is not set: give --\(name.rawValue), \(variable) or \(line).", exitCode: 2)
    }

    /// A setting as what `read` makes of its text; nil where nobody has set it. Where `read` answers nil the text is
    /// wrong, and `form` says what it must be.
    func value<Result>(_ name: Name, form: String, _ read: (String) -> Result?) throws -> Result? {
        guard let value = values[name] else { return nil }
        guard let result = read(value.text) else {
            throw value.mistake("must be \(form), not '\(value.text)'")
        }
        return result
    }

    /// A whole number.
    func number(_ name: Name, in range: ClosedRange<Int>) throws -> Int? {
        try value(name, form: "a whole number from \(range.lowerBound) to \(range.upperBound)") { text in
            Int(text).flatMap { range.contains($0) ? $0 : nil }
        }
    }

    /// One of the cases of `Choice`, told by their raw values.
    func choice<Choice: CaseIterable & RawRepresentable<String>>(
        _ name: Name, of type: Choice.Type
    ) throws -> Choice? {
        let known = Choice.allCases.map(\.rawValue).joined(separator: ", ")
        return try value(name, form: "one of \(known)", Choice.init(rawValue:))
    }

    /// `true` or `false`.
    func boolean(_ name: Name) throws -> Bool? { try value(name, form: "true or false") { Bool($0) } }

    /// What a reload has to say of settings that it does not take on, and that were other ones at the start: the end of
    /// its sentence; empty where there are none.
    func unheeded(since start: SettingTexts) -> String {
        let names = Name.allCases.filter { !Name.reloaded.contains($0) && self[$0] != start[$0] }
        guard !names.isEmpty else { return "" }
        let list = names.map(\.rawValue).joined(separator: ", ")
        return "; \(list) \(names.count == 1 ? "has" : "have") changed, which counts from the next start on"
    }

    /// A mistake in a setting, told with its place.
    func mistake(_ name: Name, _ sentence: String) -> any Error {
        values[name]?.mistake(sentence) ?? CommandFailure("\(name.rawValue) \(sentence)", exitCode: 2)
    }
}
