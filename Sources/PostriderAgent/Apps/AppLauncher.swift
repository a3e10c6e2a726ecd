import FoundationEssentials
import PostriderFileTrust
import PostriderNotifications
import PostriderSystem
import PostriderTransport

/// Starts the programs of apps.
protocol AppLauncher: AnyObject {
    /// Starts an app's program.
    ///
    /// - Parameters:
    ///   - reason: what the program is told in its environment.
    ///   - ended: called once, when it has ended; never before this returns.
    /// - Throws: `TransportError` or ``AgentFailure``, one sentence.
    func start(
        _ manifest: AppManifest, reason: String, ended: @escaping (ProcessEnding) -> Void
    ) throws -> any AppProcess

    /// Takes over a process that an earlier agent started; nil if it has ended.
    func adopt(
        _ record: ProcessRegister.Record, ended: @escaping (ProcessEnding) -> Void
    ) -> (any AppProcess)?
}

/// The process of an app.
protocol AppProcess: AnyObject {
    /// The process number and its start time, which together identify it.
    var identifier: Int32 { get }
    var startedAt: UInt64 { get }
    /// Asks it to end (SIGTERM).
    func terminate()
    /// Ends it (SIGKILL).
    func kill()
}

extension ChildProcess: AppProcess {}
extension ProgramRun: AppProcess {}

/// Starts programs as processes of this machine: as the agent's own user, or as any user if the agent runs as root.
///
/// Programs of other users are started through setpriv(1), which replaces itself with the program.
final class ProcessLauncher: AppLauncher, ProgramRunner {
    private let processes: ProcessTable
    private let socketPath: String

    /// The program that changes the user.
    static let setpriv = "/usr/bin/setpriv"
    private static let searchPath = "/usr/local/bin:/usr/bin:/bin"
    /// Variables that a program inherits from the agent: locale and time zone.
    private static let inherited = ["LANG", "LANGUAGE", "LC_ALL", "TZ"]

    init(_ processes: ProcessTable, socketPath: String) {
        self.processes = processes
        self.socketPath = socketPath
    }

    func start(
        _ manifest: AppManifest, reason: String, ended: @escaping (ProcessEnding) -> Void
    ) throws -> any AppProcess {
        try processes.start(try program(manifest, reason), ended: ended)
    }

    func adopt(
        _ record: ProcessRegister.Record, ended: @escaping (ProcessEnding) -> Void
    ) -> (any AppProcess)? {
        processes.adopt(record.identifier, startedAt: record.startedAt, ended: ended)
    }

    func run(
        _ service: AppManifest.ServiceExtension, of manifest: AppManifest, input: [UInt8],
        ended: @escaping (ProgramResult) -> Void
    ) throws -> any AppProcess {
        var extended = manifest
        extended.program = service.program
        extended.arguments = service.arguments
        return try processes.run(
            try program(extended, Self.extensionReason), input: input,
            keeping: .all(atMost: Limits.extensionOutputBytes), ended: ended)
    }

    /// The launch reason that a service extension is told.
    private static let extensionReason = "service-extension"

    /// The program to start, its user and its environment. The file is checked each time, because it or a directory
    /// above it may have got another owner since the manifest was read.
    ///
    /// - Throws: ``AgentFailure``.
    func program(_ manifest: AppManifest, _ reason: String) throws -> ProgramStart {
        do throws(FileAccessError) {
            try FileAccessRule.unchangeable(by: manifest.user).checkProgram(manifest.program)
        } catch {
            throw AgentFailure(
                description: "The program \(manifest.program) was not started: it \(error.explanation).")
        }
        guard let account = UserAccount.entry(of: manifest.user) else {
            throw AgentFailure(
                description: "There is no user \(manifest.user), whose app this is said to be.")
        }
        let agent = ProcessInfo.processInfo.environment
        var environment = agent.filter { Self.inherited.contains($0.key) }
        environment["PATH"] = Self.searchPath
        environment["HOME"] = account.home
        environment["USER"] = account.name
        environment["LOGNAME"] = account.name
        environment.merge(manifest.environment) { $1 }
        environment["POSTRIDER_AGENT_SOCKET"] = socketPath
        environment["POSTRIDER_TOPIC"] = manifest.topic
        environment["POSTRIDER_LAUNCH_REASON"] = reason
        guard manifest.user != UserAccount.own else {
            return ProgramStart(
                path: manifest.program, arguments: manifest.arguments, environment: environment)
        }
        let change = ["--reuid", "\(manifest.user)", "--regid", "\(account.group)", "--init-groups", "--"]
        return ProgramStart(
            path: Self.setpriv, arguments: change + [manifest.program] + manifest.arguments,
            environment: environment)
    }
}
