import FoundationEssentials
import PostriderFileTrust
import PostriderNotifications
import PostriderRelay
import PostriderTransport

extension Settings {
    /// A program of the operator's, with its arguments; nil: none is set.
    func operatorProgram(_ setting: Setting, control: SocketAddress) throws -> OperatorProgram? {
        let form = "an absolute path, with arguments behind it that have no comma"
        let words = try texts.value(setting, form: form) { text -> [String]? in
            let words = text.split(separator: ",").map { $0.trimmed }
            return words.first?.hasPrefix("/") == true && !text.utf8.contains(0) ? words : nil
        }
        guard let words else { return nil }
        let start = ProgramStart(
            path: words[0], arguments: Array(words.dropFirst()),
            environment: [
                "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                "POSTRIDER_CONTROL_ADDRESS": "\(control)",
            ])
        let program = OperatorProgram(start: start) { Self.mistake(in: start.path) }
        if let mistake = program.mistake() {
            throw texts.mistake(setting, "names a program that cannot be run: \(mistake)")
        }
        return program
    }

    /// Why a program cannot be run, as a sentence; nil if it can, and nobody else can have put it there.
    private static func mistake(in path: String) -> String? {
        do throws(FileAccessError) {
            try FileAccessRule.unchangeable.checkProgram(path)
            return nil
        } catch {
            return "\(path) \(error.explanation)"
        }
    }
}
