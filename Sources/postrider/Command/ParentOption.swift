import Glibc
import PostriderCommands
import PostriderOptions
import PostriderSystem
import PostriderTransport

/// The option with which a command ends when the program ends that started it, even if that is killed.
enum ParentOption {
    /// Ends this process in order (SIGTERM) as soon as the process that the user named has ended.
    static func follow(_ options: ParsedOptions) throws {
        guard let parent = try options.integer("parent", in: 1...Int(Int32.max)) else { return }
        do throws(TransportError) {
            try ProcessObserver.start(Int32(parent)) { kill(getpid(), SIGTERM) }
        } catch {
            throw options.error("--parent: \(error.description)")
        }
    }

    static let option = Option.value(
        "parent", "NUMBER",
        "End when the process with this number ends, such as the test that starts this command.")
}
