import FoundationEssentials
import PostriderCommands
import PostriderOptions
import PostriderSystem
import PostriderTransport

/// `postrider agent`: hands over to `postrider-agent`, which is a program of its own so that a device need not have the
/// relay. The words after `agent` mean there what they mean here.
enum HandOverCommand: Command {
    static let name = "agent"
    static let summary = "Run the agent of a device, or an action on it: the same as 'postrider-agent'."

    static func run(_ arguments: [String]) async throws -> Int32 { throw handOver(to: path, arguments) }

    /// Hands over to a command of the agent, with `--json` if that was given here.
    static func handOver(_ arguments: [String], _ options: ParsedOptions) throws {
        throw handOver(to: path, arguments + (options.isSet("json") ? ["--json"] : []))
    }

    /// Replaces this process by another program. Returns only if that is impossible.
    ///
    /// - Returns: what is wrong, and what to do.
    static func handOver(to path: String, _ arguments: [String]) -> CommandFailure {
        do throws(SystemError) {
            try ProcessReplacement.begin(path, arguments)
        } catch {
            return CommandFailure(
                "The program \(path) cannot be started: \(error.text). Install the package postrider-agent, "
                    + "or put the program of this name beside this one.")
        }
    }

    /// The program of the agent, which is in the folder of this one.
    private static var path: String {
        let own = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        return URL(filePath: own ?? "/usr/bin/postrider").deletingLastPathComponent()
            .appending(path: "postrider-agent").path
    }

    static let table = OptionTable(
        command: "postrider agent",
        summary: """
            Run the agent of a device, or one of the actions on it. This is the same as 'postrider-agent', \
            the program of a device, with the same words; 'postrider-agent --help' explains them.
            """,
        operands: [.optional("ARGUMENT…")],
        examples: [.init("Run with a configuration file", "postrider agent --config agent.yaml")]
    )
}
