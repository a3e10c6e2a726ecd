import Foundation
import Options

/// The agent's settings as the user has written them: an option wins over the environment, which wins over the file.
struct AgentTexts {
    let options: ParsedOptions
    let environment: [String: String]
    let file: [AgentSetting: String]

    /// What was written; an empty variable counts as none.
    func text(_ setting: AgentSetting) -> String? {
        let variable = environment[Setting.variable(setting.rawValue)].flatMap { $0.isEmpty ? nil : $0 }
        return options.string(setting.rawValue) ?? variable ?? file[setting]
    }

    /// What must be written somewhere.
    func required(_ setting: AgentSetting) throws(UsageError) -> String {
        if let text = text(setting) { return text }
        throw options.error(
            "--\(setting.rawValue) is missing; \(Setting.variable(setting.rawValue)) and a line in the "
                + "configuration file would do as well")
    }

    /// A whole number.
    func number(_ setting: AgentSetting, in range: ClosedRange<Int>) throws(UsageError) -> Int? {
        guard let text = text(setting) else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw wrong(setting, "a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// The mistake of a setting that is not of this form.
    func wrong(_ setting: AgentSetting, _ form: String) -> UsageError {
        options.error("\(setting.rawValue) must be \(form), not '\(text(setting) ?? "")'")
    }
}
