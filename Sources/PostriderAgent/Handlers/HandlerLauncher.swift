import FoundationEssentials
import PostriderFileTrust
import PostriderNotifications
import PostriderSystem
import PostriderTransport

/// Starts handlers.
protocol HandlerLauncher: AnyObject {
    /// Starts a handler for one notification.
    ///
    /// - Parameter ended: called once, when it has ended; never before this returns.
    /// - Throws: `TransportError` or ``AgentFailure``, one sentence.
    func start(
        _ handler: AppManifest.Handler, of manifest: AppManifest, for job: HandlerJob,
        ended: @escaping (ProgramResult) -> Void
    ) throws -> any AppProcess
}

/// Starts the programs of handlers as processes of this machine. prlimit(1) and setpriv(1) set the bounds, the user and
/// the privileges, and replace themselves with the program. A program ends with the agent that started it
/// (`PR_SET_PDEATHSIG`); the next agent starts it again for notifications that were not handled.
final class ProgramHandlers: HandlerLauncher {
    private let processes: ProcessTable
    private let launcher: ProcessLauncher

    private static let prlimit = "/usr/bin/prlimit"

    init(_ processes: ProcessTable, _ launcher: ProcessLauncher) {
        self.processes = processes
        self.launcher = launcher
    }

    func start(
        _ handler: AppManifest.Handler, of manifest: AppManifest, for job: HandlerJob,
        ended: @escaping (ProgramResult) -> Void
    ) throws -> any AppProcess {
        // The file may have changed since the manifest was read.
        if let mistake = Self.mistake(in: handler, of: manifest) {
            throw AgentFailure(description: mistake)
        }
        return try processes.run(
            try program(handler, manifest, job), input: job.input, keeping: .tail(Limits.handlerTailBytes),
            ended: ended)
    }

    /// Why a handler's program cannot be started, as a sentence; nil if it can, and nobody but its user and root can
    /// change it.
    static func mistake(in handler: AppManifest.Handler, of manifest: AppManifest) -> String? {
        do throws(FileAccessError) {
            try FileAccessRule.unchangeable(by: manifest.user).checkProgram(manifest.program)
        } catch {
            return "The program \(manifest.program) \(error.explanation)."
        }
        let directory = URL(filePath: handler.directory).resolvingSymlinksInPath().path
        let attributes = try? FileManager.default.attributesOfItem(atPath: directory)
        let isDirectory = attributes?[.type] as? FileAttributeType == .typeDirectory
        return isDirectory ? nil : "The directory \(handler.directory) is not there."
    }

    /// The program to start, its user and its environment.
    func program(
        _ handler: AppManifest.Handler, _ manifest: AppManifest, _ job: HandlerJob
    ) throws -> ProgramStart {
        var start = try launcher.program(manifest, job.reason)
        start.environment.merge(job.variables) { $1 }
        start.directory = handler.directory
        var words = [ProcessLauncher.setpriv, "--pdeathsig", "KILL"]
        if handler.sandbox.hasNoNewPrivileges { words.append("--no-new-privs") }
        // For another user, the command line has a call of setpriv(1) already.
        words +=
            start.path == ProcessLauncher.setpriv ? start.arguments : ["--", start.path] + start.arguments
        let limits = handler.sandbox.limits
        if !limits.isEmpty { words = [Self.prlimit] + limits + ["--"] + words }
        start.path = words[0]
        start.arguments = Array(words.dropFirst())
        return start
    }
}
