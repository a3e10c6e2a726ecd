import Glibc
import PostriderCommands
import PostriderSystem
import PostriderTransport
import Synchronization

/// A program that `postrider dev --nodes` has started. It ends with this process, even if that is killed.
final class DevProgram: Sendable {
    /// Whose process it is.
    struct Account {
        let user: UInt32
        let group: UInt32
    }

    /// The signal that asks it to end.
    enum End: String {
        case terminate = "TERM"
        case interrupt = "INT"

        fileprivate var signal: Int32 { self == .terminate ? SIGTERM : SIGINT }
    }

    /// The process number.
    let identifier: Int32
    private let end: End
    private let state: State

    /// Whether it has ended, which its own thread notes.
    private final class State: Sendable {
        let hasEnded = Atomic(false)
        let endings: AsyncStream<ProcessEnding>
        private let continuation: AsyncStream<ProcessEnding>.Continuation

        init() { (endings, continuation) = AsyncStream.makeStream() }

        func note(_ ending: ProcessEnding) {
            hasEnded.store(true, ordering: .releasing)
            continuation.yield(ending)
            continuation.finish()
        }
    }

    /// How long a program may take to end before it is killed.
    private static let patience = Duration.seconds(25)

    private init(_ identifier: Int32, _ end: End, _ state: State) {
        self.identifier = identifier
        self.end = end
        self.state = state
    }

    /// Starts a program, with this process's output. `ended` is called once.
    static func start(
        _ path: String, _ arguments: [String], as account: Account? = nil, endedBy end: End,
        ended: @escaping @Sendable (ProcessEnding) -> Void
    ) async throws -> DevProgram {
        let start = command(path, arguments, as: account, endedBy: end)
        let state = State()
        // The kernel ends the program when the thread ends that has started it, so this one stays.
        let identifier: Int32 = try await Thread.start(name: "program") { continuation in
            do {
                let loop = try EventLoop()
                let processes = ProcessTable(on: loop)
                let process = try processes.start(start) { [unowned loop] ending in
                    state.note(ending)
                    ended(ending)
                    loop.stop()
                }
                continuation.resume(returning: process.identifier)
                loop.run()
                withExtendedLifetime((processes, process)) {}
            } catch {
                continuation.resume(throwing: error)
            }
        }
        return DevProgram(identifier, end, state)
    }

    /// Runs a program to its end, without its standard output.
    static func run(
        _ path: String, _ arguments: [String], as account: Account? = nil
    ) async throws -> ProcessEnding {
        let start = command(path, arguments, as: account, endedBy: .terminate)
        return try await Thread.start(name: "program") { continuation in
            continuation.resume(with: Result { try start.runToEnd { _ in } })
        }
    }

    private static func command(
        _ path: String, _ arguments: [String], as account: Account?, endedBy end: End
    ) -> ProgramStart {
        let change = account.map { ["--reuid=\($0.user)", "--regid=\($0.group)", "--clear-groups"] } ?? []
        // Settings of this process's environment, such as PGPORT and POSTRIDER_STORE, are not meant for it.
        let others = ["PG", "POSTRIDER_", "LISTEN_", "NOTIFY_SOCKET", "WATCHDOG_"]
        let environment = ProgramStart.ownEnvironment.filter { variable in
            !others.contains { variable.key.hasPrefix($0) }
        }
        return ProgramStart(
            path: "/usr/bin/setpriv",
            arguments: change + ["--pdeathsig", end.rawValue, "--", path] + arguments,
            environment: environment)
    }

    /// Asks the program to end, and waits until it has; kills it if that takes too long.
    func stop() async {
        send(end.signal)
        let timeout = Task.detached { [self] in
            try await Task.sleep(for: Self.patience)
            send(SIGKILL)
        }
        _ = await state.endings.first { _ in true }
        timeout.cancel()
    }

    private func send(_ signal: Int32) {
        if !state.hasEnded.load(ordering: .acquiring) { kill(identifier, signal) }
    }
}
