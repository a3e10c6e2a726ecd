import Foundation
import Options
import YAML

/// What the user has set, from three places: an option wins over the environment, which wins over the configuration
/// file. Every value knows where it comes from, so that a mistake in it is told with its place.
struct Settings {
    private struct Value {
        let text: String
        /// Makes the error of a sentence that goes on after the value's place.
        let mistake: (String) -> any Error
    }

    private var values: [Setting: Value] = [:]
    /// The command that asks, for sentences.
    private let command: String
    /// The configuration file that was read, nil if there was none.
    let file: String?
    /// Whether somebody said, here or in the environment, which relay is meant; otherwise it is what this machine has.
    let isChosen: Bool

    /// Where the configuration file is looked for when nobody names one.
    static let usualFile = "/etc/postrider/postrider.yaml"
    /// The option that names the configuration file.
    static let fileOption = Option.value(
        "config", short: "c", "FILE", "The configuration file; \(usualFile) if not given, and if it is there."
    )
    /// The variable that names the configuration file.
    static let fileVariable = "POSTRIDER_CONFIG"

    /// Reads all places. An empty variable counts as one that is not there.
    ///
    /// - Parameter readFile: the text of a file, or nil where there is none.
    /// - Throws: ``CommandFailure`` for a file that is not there, is no YAML or has a setting that nobody knows.
    init(
        options: ParsedOptions, environment: [String: String], readFile: (String) throws -> String?
    ) throws {
        command = options.table.command
        let environment = environment.filter { !$0.value.isEmpty }
        let named = options.string(Self.fileOption.name) ?? environment[Self.fileVariable]
        let path = named ?? Self.usualFile
        let text = try readFile(path)
        guard text != nil || named == nil else {
            throw CommandFailure(
                "The configuration file \(path) is not there; give the path of one that is, or none.",
                exitCode: 2)
        }
        file = text == nil ? nil : path
        isChosen =
            named != nil
            || [Setting.controlAddress, .dataDirectory].contains { environment[$0.variable] != nil }
        if let text { try read(text, path) }
        for setting in Setting.allCases {
            if let text = environment[setting.variable] {
                values[setting] = Value(text: text) {
                    CommandFailure("\(setting.variable) \($0)", exitCode: 2)
                }
            }
            guard options.table.options.contains(where: { $0.name == setting.rawValue }) else { continue }
            if let text = options.string(setting.rawValue) {
                values[setting] = Value(text: text) { options.error("--\(setting.rawValue) \($0)") }
            }
        }
    }

    private mutating func read(_ text: String, _ path: String) throws {
        do throws(YAMLError) {
            let reader = try YAMLReader.reading(text: text, file: path)
            for setting in Setting.allCases {
                guard let text = try reader.string(setting.rawValue) else { continue }
                values[setting] = Value(text: text) {
                    CommandFailure(reader.error(setting.rawValue, $0).description, exitCode: 2)
                }
            }
            try reader.finish()
        } catch {
            throw CommandFailure(error.description, exitCode: 2)
        }
    }

    /// The text of a setting, nil where nobody has set it.
    subscript(_ setting: Setting) -> String? { values[setting]?.text }

    /// The text of a setting that must be set.
    func required(_ setting: Setting) throws -> String {
        if let value = values[setting] { return value.text }
        let place = file.map { " or a line '\(setting.rawValue): …' in \($0)" } ?? " or a configuration file"
        throw CommandFailure(
            "\(setting.rawValue) is not set: give --\(setting.rawValue), \(setting.variable)\(place).",
            exitCode: 2)
    }

    /// A setting as what `read` makes of its text; nil where nobody has set it. Where `read` answers nil the text is
    /// wrong, and `form` says what it must be.
    func value<Result>(_ setting: Setting, form: String, _ read: (String) -> Result?) throws -> Result? {
        guard let value = values[setting] else { return nil }
        guard let result = read(value.text) else {
            throw value.mistake("must be \(form), not '\(value.text)'")
        }
        return result
    }

    /// A mistake in a setting, told with its place.
    func mistake(_ setting: Setting, _ sentence: String) -> any Error {
        values[setting]?.mistake(sentence) ?? CommandFailure("\(setting.rawValue) \(sentence)", exitCode: 2)
    }
}

extension Settings {
    /// What the user of this process has set.
    init(options: ParsedOptions) throws {
        try self.init(options: options, environment: ProcessInfo.processInfo.environment) { path in
            try FileText.readIfThere(path)
        }
    }
}
