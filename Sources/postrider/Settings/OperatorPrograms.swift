import FoundationEssentials
import PostriderCommands
import PostriderFileTrust
import PostriderNotifications
import PostriderRelay
import PostriderSystem
import PostriderTransport

extension Settings {
    /// A program of the operator with its arguments; nil if none is set.
    func operatorProgram(_ setting: Setting, control: SocketAddress) throws -> OperatorProgram? {
        let form = "an absolute path, with arguments behind it that have no comma"
        let words = try texts.list(setting, form: form) { words in
            words.first?.hasPrefix("/") == true && !words.contains { $0.utf8.contains(0) } ? words : nil
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

    /// A sentence that says why a program cannot be run; nil if it can, and no other user can have changed it.
    private static func mistake(in path: String) -> String? {
        do throws(FileAccessError) {
            try FileAccessRule.unchangeable.checkProgram(path)
            return nil
        } catch {
            return "\(path) \(error.explanation)"
        }
    }
}
